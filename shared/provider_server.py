"""A scripted provider on 127.0.0.1: what it answers, and how badly, is written down beforehand.

    with ProviderServer(Answer(completion(text="Hello"))) as server:
        model = OpenAIChat(base_url=server.base_url, api_key="a-key", model="a-model")
        ...
    server.requests[0].body  # what the client sent, parsed

For tests, labs and benchmarks: it speaks as much HTTP as they need.
"""

from __future__ import annotations

import json
import socketserver
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler
from typing import Any, Self


class Ending(Enum):
    """What happens after the last byte of an answer."""

    WHOLE = auto()
    DROPPED = auto()  # the connection closes, though more bytes were announced
    HANGING = auto()  # nothing more comes, and the connection stays open


@dataclass(frozen=True, slots=True)
class InPieces:
    """A body of which each piece is sent on its own, before the next one is looked at.

    A function among the pieces is called when it is its turn: what comes after it waits for it.
    """

    pieces: Sequence[bytes | Callable[[], object]]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. A `body` that is neither text nor bytes nor in pieces is sent as JSON.

    `piece` is how many bytes are written at a time. With `status` None not even a status line is
    sent: only the ending happens.
    """

    body: Any = b""
    status: int | None = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    piece: int | None = None
    ending: Ending = Ending.WHOLE

    @property
    def content(self) -> bytes:
        """The bytes of a body that is not in pieces."""
        if isinstance(self.body, bytes):
            return self.body
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return text.encode()


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived; header names are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


Script = Answer | Callable[[Received], Answer]


class ProviderServer:
    """Answers each request with the next entry of its script, and keeps what it was asked.

    An entry is an answer, or a function of the request that returns one. A request that the script
    does not foresee is answered with status 418. `asked` is set when a request has arrived,
    `hung_up` when a client has gone away from an answer that hangs, `closed` when any connection
    has ended.
    """

    def __init__(self, *script: Script) -> None:
        self.requests: list[Received] = []
        self.asked = threading.Event()
        self.hung_up = threading.Event()
        self.closed = threading.Event()
        self._script = list(script)
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), name="provider", daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a client is configured with."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def next_answer(self, received: Received) -> Answer:
        """Keep the request, and give the answer to it."""
        with self._lock:
            self.requests.append(received)
            position = len(self.requests) - 1
        self.asked.set()
        if position >= len(self._script):
            return Answer(f"request {position + 1} is not in the script", status=418)
        entry = self._script[position]
        return entry if isinstance(entry, Answer) else entry(received)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 16
    owner: ProviderServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 10  # seconds, so that no thread outlives a broken test
    disable_nagle_algorithm = True

    def handle(self) -> None:
        with suppress(ConnectionError):  # a client that has enough resets the connection
            super().handle()

    def finish(self) -> None:
        super().finish()
        assert isinstance(self.server, _Server)
        self.server.owner.closed.set()

    def do_POST(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        assert isinstance(self.server, _Server)
        owner = self.server.owner
        content = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = json.loads(content) if content else None
        answer = owner.next_answer(Received(self.command, self.path, headers, body))
        self.close_connection = answer.ending is not Ending.WHOLE
        try:
            self._send(answer)
            if answer.ending is Ending.HANGING and not self.connection.recv(1):
                owner.hung_up.set()
        except OSError:  # the client has gone, which some tests are about
            owner.hung_up.set()
            self.close_connection = True

    def _send(self, answer: Answer) -> None:
        if answer.status is None:
            return
        self.send_response_only(answer.status)
        self.send_header("Content-Type", answer.content_type)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if isinstance(answer.body, InPieces):
            self._send_in_pieces(answer.body, answer.ending)
            return
        content = answer.content
        announced = len(content) + (answer.ending is not Ending.WHOLE)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        step = answer.piece or max(len(content), 1)
        for start in range(0, len(content), step):
            self.wfile.write(content[start : start + step])

    def _send_in_pieces(self, body: InPieces, ending: Ending) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in body.pieces:
            if callable(piece):
                piece()
            elif piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if ending is Ending.WHOLE:
            self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def completion(
    *calls: Mapping[str, Any], text: str | None = None, finish: str | None = None
) -> dict[str, Any]:
    """The JSON of a reply with these calls, as OpenAI sends it."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        message["tool_calls"] = list(calls)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1764000000,
        "model": "a-model",
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": finish or ("tool_calls" if calls else "stop"),
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def wire_call(id: str, name: str, arguments: Any) -> dict[str, Any]:  # noqa: A002
    """The JSON of one call; arguments that are not text become JSON text, as OpenAI sends it."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
