"""What a reply costs that arrives in pieces: everything but the network, which an object plays."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from chapters.ch01.connection import openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.adapters import Access, endpoint_of
from chapters.ch04.anthropic_client import anthropic_client
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch05.adapters import open_streaming_model, stream_wire_of
from chapters.ch05.streaming import StreamingModel
from labs.timing import Figure, growth, paired
from shared.events import Event, TextDelta, TextEnded, fan_out
from shared.live_console import LiveConsole
from shared.messages import Request, UserMessage
from shared.testing import FakeClock

PIECE = "word"
PIECES = 2_000
REPLIES = 10  # in a row: a single one from the floor is too short to time
ADDRESSES = {"openai": "http://provider.example/v1", "anthropic": "http://provider.example"}
ASKED = Request((UserMessage("go"),))

Json = dict[str, Any]


# What a provider sends


def chat_events(pieces: int) -> list[Json]:
    """A reply of Chat Completions, with what a real one has around each piece."""
    around = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}

    def chunk(delta: Json, finish: str | None = None) -> Json:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**around, "choices": [choice], "usage": None}

    texts = [chunk({"content": PIECE}) for _ in range(pieces)]
    return [chunk({"role": "assistant", "content": ""}), *texts, chunk({}, "stop")]


def messages_events(pieces: int) -> list[Json]:
    """A reply of Messages."""
    usage = {"input_tokens": 10, "output_tokens": 1}
    begun = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    piece = {"type": "text_delta", "text": PIECE}
    return [
        {"type": "message_start", "message": {**begun, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *[{"type": "content_block_delta", "index": 0, "delta": piece} for _ in range(pieces)],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage},
        {"type": "message_stop"},
    ]


EVENTS = {"openai": chat_events, "anthropic": messages_events}
WHO = {"openai": "OpenAI", "anthropic": "Anthropic"}


class Provider(httpx2.AsyncBaseTransport):
    """Answers in process with one stream of events, each of them a piece of its own."""

    def __init__(self, name: str) -> None:
        self._sent = [as_sse(event) for event in EVENTS[name](PIECES)]
        if name == "openai":
            self._sent.append(b"data: [DONE]\n\n")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The stream."""
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=Sent(self._sent), request=request)


class Sent(httpx2.AsyncByteStream):
    """The body of an answer, piece by piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def as_sse(event: Json) -> bytes:
    """One event as it is sent."""
    name = f"event: {event['type']}\n" if "type" in event else ""
    return f"{name}data: {json.dumps(event, separators=(',', ':'))}\n\n".encode()


# From the events of a provider to a listener


class Listener:
    """Joins what it is told, as any listener has to do at the least."""

    def __init__(self) -> None:
        self._text: list[str] = []

    def __call__(self, event: Event) -> None:
        """Take one event."""
        if isinstance(event, TextDelta):
            self._text.append(event.text)

    def check(self) -> None:
        """That nothing is missing."""
        assert "".join(self._text) == PIECE * PIECES


class Ready:
    """A source of events that has them all."""

    def __init__(self, name: str) -> None:
        access = Access(ADDRESSES[name], "a-key", "a-model")
        target = Target(KNOWN[name], access.model)
        self.streamed = stream_wire_of(KNOWN[name].api)
        self.target = target
        self.endpoint = endpoint_of(self.streamed.wire, target, access)
        self._events = EVENTS[name](PIECES)

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncIterator[AsyncIterator[Json]]:
        """All of them."""
        yield self._each()

    async def _each(self) -> AsyncIterator[Json]:
        for event in self._events:
            yield event

    async def aclose(self) -> None:
        """Nothing to close."""


async def told(source: Ready) -> None:
    """Our accumulator and its model, with a listener."""
    model = StreamingModel(source.target, source.streamed, source)
    for _ in range(REPLIES):
        listener = Listener()
        await model.reply(ASKED, fan_out([listener]))
        listener.check()


async def told_by_hand(source: Ready) -> None:
    """The floor: read two fields, and tell a listener. Nothing is checked, nothing can go wrong."""
    for _ in range(REPLIES):
        listener = Listener()
        async with source.stream(b"") as events:
            async for event in events:
                if text := text_of(event):
                    listener(TextDelta(0, text))
        listener.check()


async def told_by_nobody() -> None:
    """The bare floor: a generator of strings, and somebody who joins them."""

    async def strings() -> AsyncIterator[str]:
        for _ in range(PIECES):
            yield PIECE

    for _ in range(REPLIES):
        assert "".join([piece async for piece in strings()]) == PIECE * PIECES


# From bytes to a listener


async def from_bytes(name: str, provider: Provider) -> None:
    """The provider's client, our accumulator and its model, with a listener."""
    listener = Listener()
    access = Access(ADDRESSES[name], "a-key", "a-model")
    async with open_streaming_model(KNOWN[name], access, transport=provider) as model:
        await model.reply(ASKED, fan_out([listener]))
    listener.check()


async def by_client_alone(name: str, provider: Provider) -> None:
    """The provider's client in the way we use it, and nobody who reads what it gives."""
    endpoint = Endpoint(ADDRESSES[name], "a-key", "a-model")
    below = httpx2.AsyncClient(transport=provider)
    opened = {"openai": openai_client, "anthropic": anthropic_client}[name]
    sdk = opened(endpoint, 10.0, below)
    async with sdk.client:
        stream = await sdk.client.post(
            "/events",
            content=b"{}",
            cast_to=object,
            stream=True,
            stream_cls=sdk.package.AsyncStream[object],
        )
        assert len([event async for event in stream]) > PIECES


async def by_typed_create(provider: Provider) -> None:
    """OpenAI's client through its typed method, which makes an object of each event."""
    endpoint = Endpoint(ADDRESSES["openai"], "a-key", "a-model")
    sdk = openai_client(endpoint, 10.0, httpx2.AsyncClient(transport=provider))
    async with sdk.client:
        create = sdk.client.chat.completions.create
        said = [{"role": "user", "content": "go"}]
        stream = await create(model="a-model", messages=said, stream=True)
        text = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "".join(text) == PIECE * PIECES


async def by_hand(name: str, provider: Provider) -> None:
    """The floor: the HTTP library, a reader of nine lines, json.loads, and joined strings."""
    text: list[str] = []
    async with httpx2.AsyncClient(transport=provider) as client:
        async with client.stream("POST", ADDRESSES[name], content=b"{}") as answer:
            rest = b""
            async for piece in answer.aiter_raw():
                *blocks, rest = (rest + piece).split(b"\n\n")
                for block in blocks:
                    data = block[block.index(b"data: ") + 6 :]
                    if data != b"[DONE]":
                        text.append(text_of(json.loads(data)))
    assert "".join(text) == PIECE * PIECES


def text_of(event: Json) -> str:
    """The text in an event of either API."""
    delta = event["choices"][0]["delta"] if "choices" in event else event.get("delta", {})
    found: str = delta.get("content") or delta.get("text") or ""
    return found


# On the screen


class Forgetful(io.StringIO):
    """A terminal that forgets at once, so that only our own work is timed."""

    def isatty(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Forget it."""
        return len(text)


SAID = "Some words of a long reply, which go on\nand on. "


def show(characters: int) -> None:
    """A text of so many characters on the live console, in pieces of four."""
    console = LiveConsole(Forgetful(), FakeClock(), environ={"TERM": "xterm"})
    text = (SAID * (characters // len(SAID) + 1))[:characters]
    for start in range(0, characters, 4):
        console(TextDelta(0, text[start : start + 4]))
    console(TextEnded(0, text))


# One event loop for all rounds: starting one is not what is measured.
RUNNER = asyncio.Runner()


def in_loop(action: Callable[..., Any], *given: Any) -> Callable[[], None]:
    """An action that runs a coroutine to its end."""
    return lambda: RUNNER.run(action(*given))


def stream_figures() -> list[Figure]:
    """The figures of a reply that arrives in pieces."""
    servers = {name: Provider(name) for name in EVENTS}
    chat, messages = servers["openai"], servers["anthropic"]
    floors = {name: in_loop(by_hand, name, server) for name, server in servers.items()}
    deltas = [
        figure
        for name in EVENTS
        for figure in (
            paired(
                f"a text delta of {WHO[name]}, event to listener, over reading its field by hand",
                "<= 10",
                in_loop(told, Ready(name)),
                in_loop(told_by_hand, Ready(name)),
            ),
            paired(
                "the same over a bare async generator of strings",
                "for comparison",
                in_loop(told, Ready(name)),
                in_loop(told_by_nobody),
            ),
        )
    ]
    return [
        *deltas,
        paired(
            "a text delta of OpenAI, from bytes to listener, over SSE and JSON read by hand",
            "aim 8",
            in_loop(from_bytes, "openai", chat),
            floors["openai"],
        ),
        paired(
            "OpenAI's client alone over the same",
            "its share of it",
            in_loop(by_client_alone, "openai", chat),
            floors["openai"],
        ),
        paired(
            "a text delta of Anthropic, from bytes to listener, over SSE and JSON read by hand",
            "aim 8",
            in_loop(from_bytes, "anthropic", messages),
            floors["anthropic"],
        ),
        paired(
            "Anthropic's client alone over the same",
            "its share of it",
            in_loop(by_client_alone, "anthropic", messages),
            floors["anthropic"],
        ),
        paired(
            "OpenAI's typed create(stream=True), from bytes to text, over ours",
            "what we avoid",
            in_loop(by_typed_create, chat),
            in_loop(from_bytes, "openai", chat),
        ),
        growth(
            "a character of 100,000 on the live console over one of 10,000",
            "<= 1.3",
            show,
            10_000,
            100_000,
        ),
    ]
