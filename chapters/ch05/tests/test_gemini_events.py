"""Gemini's events over real HTTP, through Google's own client; only the provider is a script."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import random
import warnings
from collections.abc import AsyncIterator, Sequence
from itertools import pairwise
from typing import Any

import httpx2
import pytest

from chapters.ch01.endpoint import Endpoint
from chapters.ch04.gemini_http import EXCHANGE
from chapters.ch05 import gemini_events
from chapters.ch05.gemini_events import GeminiEvents
from shared.errors import ConfigError, ProviderError
from shared.provider_server import Answer, Ending, ProviderServer

pytest.importorskip(
    "google.genai", reason="Gemini is optional; pip install -e '.[gemini]' to run this too"
)
pytestmark = pytest.mark.anyio
KEY = "AIzaSyTest0123456789abcdefghij"
EVENTS = "text/event-stream"
PATH = "/v1beta/models/a-model:streamGenerateContent"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)


def body(*events: Any) -> bytes:
    """Events as Gemini sends them; text and bytes stand for themselves."""
    said = b""
    for event in events:
        data = event if isinstance(event, str | bytes) else json.dumps(event, ensure_ascii=False)
        data = data.encode() if isinstance(data, str) else data
        said += b"data: " + data + b"\n\n"
    return said


def stream(*events: Any, ending: Ending = Ending.WHOLE, **more: Any) -> Answer:
    return Answer(body(*events), content_type=EVENTS, ending=ending, **more)


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": said}]}, **more}]}


A, B = text("a"), text("b", finishReason="STOP")


def source(url: str, **more: Any) -> GeminiEvents:
    endpoint = Endpoint(url.removesuffix("/v1"), KEY, "a-model", path=PATH)
    # There is no TLS on the way to 127.0.0.1, and certificates take long to load.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return GeminiEvents(endpoint, **{"transport": transport, **more})


async def collect(
    events: GeminiEvents, content: bytes = b"{}"
) -> tuple[list[Any], ProviderError | None]:
    """The events that come, and the error that ends them."""
    found: list[Any] = []
    try:
        async with events.stream(content) as arriving:
            async for event in arriving:
                found.append(event)
    except ProviderError as error:
        return found, error
    finally:
        await events.aclose()
    return found, None


async def asked(answer: Answer, **more: Any) -> tuple[list[Any], ProviderError | None]:
    with ProviderServer(answer) as server:
        found = await collect(source(server.base_url, **more))
        assert len(server.requests) == 1  # the client does not ask again by itself
    return found


async def failure(answer: Answer, **more: Any) -> tuple[list[Any], ProviderError]:
    events, error = await asked(answer, **more)
    assert error is not None
    # No exception of the client, which knows the key, hangs on it.
    assert (error.__cause__, error.__context__) == (None, None)
    assert KEY not in str(error)
    return events, error


# What is sent, and what comes.


async def test_a_request_is_sent_as_it_was_made_and_signed_by_the_client() -> None:
    content = '{"contents": "é\u2028",  "n":1e5}'.encode()
    with ProviderServer(stream(A, B)) as server:
        found = await collect(source(server.base_url, headers={"x-mine": "yes"}), content)
    assert found == ([A, B], None)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", f"{PATH}?alt=sse")
    assert request.body == json.loads(content)
    assert request.headers["content-length"] == str(len(content))
    assert request.headers["x-goog-api-key"] == KEY
    assert "google-genai-sdk" in request.headers["user-agent"]
    assert request.headers["x-mine"] == "yes"
    assert request.headers["accept-encoding"] == "identity"


NEW = {
    "candidates": [{"finishReason": "BRAND_NEW", "content": {"parts": [{"brandNew": [1, None]}]}}],
    "more": {"snake_case": True},
}
ODD = {"candidates": [{"content": {"parts": [{"functionCall": {"name": 5, "args": "x"}}]}}]}
SIGNED = text("é😀\u2028", thoughtSignature="not base64!")


@pytest.mark.parametrize("piece", [None, 1, 7])
@pytest.mark.parametrize(
    ("content", "events"),
    [
        (body(A, B), [A, B]),
        (body(A, B).replace(b"\n", b"\r\n"), [A, B]),
        (b"\n\n" + body(A) + b"\n\n\n" + body(B), [A, B]),
        (body(A, B)[:-2], [A, B]),
        (body(A, B)[:-1], [A, B]),
        (b'data: {"a":\ndata: 1}\n\n' + body(B), [{"a": 1}, B]),
        (body(NEW, ODD, SIGNED, {}), [NEW, ODD, SIGNED, {}]),
        (
            body('{"n": 1e400, "m": 12345678901234567890}'),
            [{"n": float("inf"), "m": 12345678901234567890}],
        ),
    ],
    ids=["plain", "CRLF", "more lines", "no end", "half an end", "two lines", "new", "numbers"],
)
async def test_events_come_as_they_were_sent(
    content: bytes, events: list[Any], piece: int | None
) -> None:
    """The client reads them into objects, which would lose half of this and fail at the rest."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = await asked(Answer(content, content_type=EVENTS, piece=piece))
    assert found == (events, None)


async def test_an_event_is_there_before_the_reply_has_ended() -> None:
    with ProviderServer(stream(A, ending=Ending.HANGING)) as server:
        events = source(server.base_url)
        async with events.stream(b"{}") as arriving:
            assert await anext(arriving) == A
            assert EXCHANGE.get(None) is None
        assert await asyncio.to_thread(server.hung_up.wait, 5)  # by leaving, not by closing
        with pytest.raises(StopAsyncIteration):
            await anext(arriving)
        await events.aclose()


async def test_replies_at_the_same_time_are_kept_apart() -> None:
    answers = [stream(*[text(f"{n} {m}") for m in range(20)], piece=50) for n in range(6)]
    with ProviderServer(*answers) as server:
        events = source(server.base_url)

        async def one() -> set[str]:
            async with events.stream(b"{}") as arriving:
                said = [
                    each["candidates"][0]["content"]["parts"][0]["text"] async for each in arriving
                ]
            assert [each.split()[1] for each in said] == [str(m) for m in range(20)]
            return {each.split()[0] for each in said}

        found = await asyncio.gather(*[one() for _ in range(6)])
        await events.aclose()
    assert all(len(each) == 1 for each in found)
    assert set().union(*found) == {str(n) for n in range(6)}


async def test_a_connection_is_kept_for_the_next_reply_and_closed_at_the_end() -> None:
    with ProviderServer(stream(A), stream(B), stream(A)) as server:
        events = source(server.base_url)
        for expected in (A, B):
            async with events.stream(b"{}") as arriving:
                assert [each async for each in arriving] == [expected]
        assert not server.closed.is_set()
        await events.aclose()
        assert await asyncio.to_thread(server.closed.wait, 5)
        events._transport = httpx2.AsyncHTTPTransport(verify=False)
        assert await collect(events) == ([A], None)


# The end of it, too early.


async def test_whoever_fails_in_the_middle_hangs_up_and_fails_with_that() -> None:
    with ProviderServer(stream(A, ending=Ending.HANGING)) as server:
        events = source(server.base_url)
        with pytest.raises(ValueError, match="mine"):  # noqa: PT012
            async with events.stream(b"{}") as arriving:
                async for _ in arriving:
                    raise ValueError("mine")
        assert await asyncio.to_thread(server.hung_up.wait, 5)
        await events.aclose()


@pytest.mark.parametrize("begun", [True, False])
async def test_cancelling_is_clean_and_hangs_up(
    begun: bool, caplog: pytest.LogCaptureFixture
) -> None:
    tasks = asyncio.all_tasks()
    with ProviderServer(stream(*([A] if begun else []), ending=Ending.HANGING)) as server:
        asking = asyncio.create_task(collect(source(server.base_url)))
        assert await asyncio.to_thread(server.asked.wait, 10)
        if begun:
            await asyncio.sleep(0.05)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert await asyncio.to_thread(server.hung_up.wait, 5)
    assert asyncio.all_tasks() == tasks
    assert caplog.text == ""


def test_nothing_is_left_behind_when_the_loop_ends() -> None:
    """The client's own generators are in the middle of their work when somebody leaves."""
    complaints: list[dict[str, Any]] = []

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, said: complaints.append(said))
        with ProviderServer(stream(A, B, ending=Ending.HANGING)) as server:
            events = source(server.base_url)
            async with events.stream(b"{}") as arriving:
                await anext(arriving)
            await events.aclose()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        asyncio.run(leave())
    assert complaints == []


# What is no event.

ERROR = {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}
IN_THE_MIDDLE: list[tuple[str, Answer, str]] = [
    ("dropped", stream(A, ending=Ending.DROPPED), "connection"),
    ("silence", stream(A, ending=Ending.HANGING), "timeout"),
    ("half an event", Answer(body(A) + b'data: {"a', content_type=EVENTS), "bad_response"),
    ("not JSON", stream(A, "{broken", B), "bad_response"),
    ("not UTF-8", stream(A, b'{"a": "\xff"}', B), "bad_response"),
    ("too deep", stream(A, "[" * 100_000, B), "bad_response"),
    ("no object", stream(A, [1], B), "bad_response"),
    ("null", stream(A, "null", B), "bad_response"),
    ("a comment", Answer(body(A) + b": ping\n\n" + body(B), content_type=EVENTS), "bad_response"),
    ("[DONE]", stream(A, "[DONE]"), "bad_response"),
    ("no blank", Answer(body(A) + b"data:{}\n\n" + body(B), content_type=EVENTS), "bad_response"),
    ("no `data`", Answer(body(A) + b'{"b": 1}\n\n', content_type=EVENTS), "bad_response"),
    ("an error", stream(A, ERROR), "provider"),
    ("an error of another shape", stream(A, {"error": {"message": "x"}}), "provider"),
]


@pytest.mark.parametrize(
    ("answer", "kind"), [row[1:] for row in IN_THE_MIDDLE], ids=[row[0] for row in IN_THE_MIDDLE]
)
async def test_a_stream_that_breaks_is_an_error_after_what_came(answer: Answer, kind: str) -> None:
    events, error = await failure(answer, idle=0.2)
    assert events == [A]
    assert (error.kind, error.retryable) == (kind, True)


AT_THE_BEGINNING: list[tuple[str, Answer, str]] = [
    ("no answer", Answer(status=None, ending=Ending.DROPPED), "connection"),
    ("no answer in time", Answer(status=None, ending=Ending.HANGING), "timeout"),
    ("a page", Answer("<html>Sign in", content_type="text/html"), "bad_response"),
    ("a reply in one piece", Answer(A), "bad_response"),
    ("a page that does not end", Answer("<html>", ending=Ending.HANGING), "timeout"),
    ("a page that breaks off", Answer("<html>", ending=Ending.DROPPED), "connection"),
    ("an error that does not end", Answer("no", 500, ending=Ending.HANGING), "timeout"),
    ("another success", Answer(body(A), 201, content_type=EVENTS), "bad_response"),
    ("a page called a stream", Answer("<html>Sign in", content_type=EVENTS), "bad_response"),
    ("nothing", stream(), "bad_response"),
    ("a comment", Answer(": hello\n\n", content_type=EVENTS), "bad_response"),
]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [row[1:] for row in AT_THE_BEGINNING],
    ids=[row[0] for row in AT_THE_BEGINNING],
)
async def test_what_is_no_stream_is_an_error(answer: Answer, kind: str) -> None:
    events, error = await failure(answer, idle=0.2)
    assert events == []
    assert (error.kind, error.retryable) == (kind, True)


@pytest.mark.parametrize("kind", ["text/html", EVENTS])
async def test_what_came_in_place_of_a_stream_is_shown(kind: str) -> None:
    _, error = await failure(Answer(f"<html>Sign in {KEY}", content_type=kind))
    assert "It begins: <html>Sign in [key]" in str(error)
    assert "WORKBOOK_BASE_URL" in str(error)


BAD_KEY = {"code": 400, "message": "No.", "details": [{"reason": "API_KEY_INVALID"}]}
BUSY = {"code": 429, "message": "No.", "status": "X", "details": [{"retryDelay": "7s"}]}


@pytest.mark.parametrize("where", ["status", "event"])
@pytest.mark.parametrize(
    ("said", "status", "retryable", "wait", "names"),
    [
        (ERROR["error"], 503, True, None, "overloaded"),
        (BUSY, 429, True, 7.0, "7 seconds"),
        (BAD_KEY, 400, False, None, "The key was not accepted"),
        ({"message": "odd"}, 500, True, None, "odd"),
        ({"status": "INVALID_ARGUMENT", "message": "odd"}, 400, False, None, "odd"),
        ("odd", 500, True, None, "odd"),
    ],
)
async def test_an_error_is_the_providers_wherever_it_stands(
    said: Any, status: int, retryable: bool, wait: float | None, names: str, where: str
) -> None:
    body = {"error": said}
    _, error = await failure(Answer(body, status=status) if where == "status" else stream(body))
    assert (error.kind, error.status) == ("provider", status)
    assert (error.retryable, error.retry_after) == (retryable, wait)
    assert names in str(error)


async def test_the_words_of_an_error_event_are_kept_for_a_program() -> None:
    _, error = await failure(stream(A, ERROR))
    assert (error.status, error.code, error.type) == (503, "503", "UNAVAILABLE")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_nobody_follows_a_redirect(status: int) -> None:
    with ProviderServer(stream(A)) as there:
        _, error = await failure(Answer(status=status, headers={"location": f"{there.base_url}/x"}))
    assert there.requests == []
    assert (error.kind, error.status) == ("provider", status)
    assert "sends you on" in str(error)


async def test_nobody_there_is_an_error_of_the_connection() -> None:
    with ProviderServer() as server:
        url = server.base_url
    _, error = await collect(source(url))
    assert error is not None
    assert error.kind == "connection"
    assert "Nothing answers" in str(error)


async def test_a_server_that_cannot_be_reached_in_time_is_said_to_be_far() -> None:
    class Far(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            assert request.extensions["timeout"]["connect"] == 3
            raise httpx2.ConnectTimeout("far", request=request)

    _, error = await collect(source("http://127.0.0.1:1", transport=Far(), connect_timeout=3))
    assert error is not None
    assert error.kind == "timeout"
    assert "within 3 seconds" in str(error)


class Body(httpx2.AsyncByteStream):
    """A body that somebody writes on and on."""

    def __init__(self, piece: bytes, pause: float) -> None:
        self.piece = piece
        self.pause = pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            await asyncio.sleep(self.pause)
            yield self.piece


class Endless(httpx2.AsyncBaseTransport):
    """Answers in process, without an end."""

    def __init__(self, piece: bytes, pause: float = 0.0) -> None:
        self.body = Body(piece, pause)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": EVENTS}, stream=self.body)


@pytest.mark.parametrize("piece", [body(A), b"\n\n", b"data: "])
async def test_a_reply_that_drips_ends_with_its_time(piece: bytes) -> None:
    transport = Endless(piece, 0.01)
    _, error = await collect(source("http://127.0.0.1:1", transport=transport, timeout=0.2))
    assert error is not None
    assert error.kind == "timeout"
    assert "within 0.2 seconds" in str(error)


@pytest.mark.parametrize("piece", [b"x" * 60_000, b"data: {}\n" * 6_000, b"\n" * 60_000])
async def test_a_stream_without_an_end_is_not_read_for_ever(
    piece: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gemini_events, "MAX_STREAM_BYTES", 1_000_000)
    _, error = await collect(source("http://127.0.0.1:1", transport=Endless(piece)))
    assert error is not None
    assert error.kind == "bad_response"
    assert "longer than 1 MB" in str(error)


@pytest.mark.parametrize("status", [200, 500])
async def test_what_is_packed_is_not_unpacked(status: int) -> None:
    bomb = gzip.compress(b"\0" * 5_000_000)
    packed = {"content-encoding": "gzip"}
    _, error = await failure(Answer(bomb, status, content_type=EVENTS, headers=packed))
    assert error.kind == ("bad_response" if status == 200 else "provider")
    assert error.retryable


SCRAPS = [
    body(A), body(B), body(ERROR), b"data: ", b"data:", b"\n", b"\n\n", b"\r\n", b"\r", b"{}", b"[",
    b"]", b"null", b'"', b"\\", b": ping\n\n", b"event: x\n", b"\xff", b'{"error": ', b"}",
    b"[DONE]", b'{"candidates": [', b"\xe2\x80\xa8", b"\x00", b"data: {}\n\n", b"id: 1\n",
]  # fmt: skip


async def test_whatever_bytes_come_it_is_events_or_an_error_of_ours() -> None:
    chance = random.Random(5)
    kinds = set()
    for _ in range(150):
        content = b"".join(chance.choices(SCRAPS, k=chance.randrange(1, 6)))
        cuts = sorted(chance.choices(range(len(content) + 1), k=3))
        pieces = [content[a:b] for a, b in pairwise([0, *cuts, len(content)])]
        _, error = await collect(source("http://127.0.0.1:1", transport=Given(pieces)))
        kinds.add(error.kind if error else None)
    assert kinds == {None, "bad_response", "provider"}


# Settings.


@pytest.mark.parametrize(
    ("key", "model", "url"),
    [
        ("", "a-model", "http://127.0.0.1:9"),
        ("auth_tokens/abc", "a-model", "http://127.0.0.1:9"),
        (KEY, "../files", "http://127.0.0.1:9"),
        (KEY, "a-model", "nonsense"),
    ],
)
async def test_settings_that_cannot_work_are_refused_before_anything_is_sent(
    key: str, model: str, url: str
) -> None:
    with pytest.raises(ConfigError):
        GeminiEvents(Endpoint(url, key, model))


async def test_an_address_that_no_client_takes_is_said() -> None:
    with pytest.raises(ConfigError, match="WORKBOOK_BASE_URL"):
        await collect(source("http://999.1.1.1"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_PROXY", "not a proxy::"), ("SSL_CERT_FILE", "/nonexistent")],
)
async def test_an_environment_that_no_client_can_be_made_in_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        await collect(source("http://127.0.0.1:1", transport=None))


# Cost.


class Given(httpx2.AsyncBaseTransport):
    """Answers in process, with these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {"content-type": EVENTS}
        return httpx2.Response(200, headers=headers, stream=Pieces(self.pieces))


class Pieces(httpx2.AsyncByteStream):
    """A body that comes in these pieces."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self.pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece


async def test_a_mark_before_the_first_event_costs_nothing_and_a_nul_is_refused() -> None:
    said = body(text("a"), text("b"))
    events, error = await asked(Answer("\ufeff".encode() + said, content_type="text/event-stream"))
    assert (len(events), error) == (2, None)
    _, error = await failure(Answer(b"\0" + said, content_type="text/event-stream"))
    assert error is not None
    assert error.kind == "bad_response"
