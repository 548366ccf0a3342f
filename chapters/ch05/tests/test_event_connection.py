"""Events over real HTTP, through the providers' own clients; only the provider is a script."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from chapters.ch01.connection import OpenClient, openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.anthropic_client import anthropic_client
from chapters.ch05 import event_connection
from chapters.ch05.event_connection import EventConnection
from chapters.ch05.streaming_client import BoundedStream, TooLong
from shared.errors import ConfigError, ProviderError
from shared.provider_server import Answer, Ending, ProviderServer

pytestmark = pytest.mark.anyio
KEY = "sk-test-0123456789abcdefghij"
EVENTS = "text/event-stream"
CLIENTS: list[OpenClient] = [openai_client, anthropic_client]
BOTH = pytest.mark.parametrize("client", CLIENTS, ids=["openai", "anthropic"])


@pytest.fixture(autouse=True)
def _no_proxy_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


def body(*events: Any) -> bytes:
    """Events as both clients read them; text and bytes stand for themselves."""
    said = b""
    for event in events:
        data = event if isinstance(event, str | bytes) else json.dumps(event)
        data = data.encode() if isinstance(data, str) else data
        said += b"event: message\ndata: " + data + b"\n\n"
    return said


def stream(*events: Any, ending: Ending = Ending.WHOLE, **more: Any) -> Answer:
    return Answer(body(*events), content_type=EVENTS, ending=ending, **more)


def connection(url: str, client: OpenClient = openai_client, **more: Any) -> EventConnection:
    endpoint = Endpoint(url, KEY, "a-model", path="/chat")
    # There is no TLS on the way to 127.0.0.1, and certificates take long to load.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return EventConnection(endpoint, client, **{"transport": transport, **more})


async def collect(source: EventConnection) -> tuple[list[Any], ProviderError | None]:
    """The events that come, and the error that ends them."""
    found: list[Any] = []
    try:
        async with source.stream(b"{}") as events:
            async for event in events:
                found.append(event)
    except ProviderError as error:
        return found, error
    finally:
        await source.aclose()
    return found, None


async def asked(
    answer: Answer, client: OpenClient = openai_client, **more: Any
) -> tuple[list[Any], ProviderError | None]:
    with ProviderServer(answer) as server:
        return await collect(connection(server.base_url, client, **more))


async def failure(
    answer: Answer, client: OpenClient = openai_client, **more: Any
) -> tuple[list[Any], ProviderError]:
    events, error = await asked(answer, client, **more)
    assert error is not None
    return events, error


@BOTH
async def test_a_request_is_sent_as_it_is_and_its_events_come_as_objects(
    client: OpenClient,
) -> None:
    with ProviderServer(stream({"a": 1}, {"b": 2})) as server:
        source = connection(server.base_url, client, headers={"x-mine": "yes"})
        assert await collect(source) == ([{"a": 1}, {"b": 2}], None)
    (request,) = server.requests
    assert request.path == "/v1/chat"
    assert request.headers["x-mine"] == "yes"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"


@BOTH
async def test_an_event_is_there_before_the_reply_has_ended(client: OpenClient) -> None:
    with ProviderServer(stream({"a": 1}, ending=Ending.HANGING)) as server:
        source = connection(server.base_url, client)
        async with source.stream(b"{}") as events:
            assert await anext(events) == {"a": 1}
        assert await asyncio.to_thread(server.hung_up.wait, 5)  # by leaving, not by closing
        await source.aclose()


@BOTH
async def test_whoever_fails_in_the_middle_hangs_up_and_fails_with_that(client: OpenClient) -> None:
    with ProviderServer(stream({"a": 1}, ending=Ending.HANGING)) as server:
        source = connection(server.base_url, client)

        async def fail() -> None:
            async with source.stream(b"{}") as events:
                async for _ in events:
                    raise ValueError("mine")

        with pytest.raises(ValueError, match="mine"):
            await fail()
        assert await asyncio.to_thread(server.hung_up.wait, 5)
        await source.aclose()


@BOTH
@pytest.mark.parametrize("begun", [True, False])
async def test_cancelling_is_clean_and_hangs_up(client: OpenClient, begun: bool) -> None:
    answer = stream(*([{"a": 1}] if begun else []), ending=Ending.HANGING)
    with ProviderServer(answer) as server:
        source = connection(server.base_url, client)
        task = asyncio.create_task(collect(source))
        await asyncio.to_thread(server.asked.wait, 5)
        if begun:
            await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(server.hung_up.wait, 5)


@BOTH
async def test_after_closing_the_next_request_opens_a_new_connection(client: OpenClient) -> None:
    with ProviderServer(stream({"a": 1}), stream({"a": 2})) as server:
        source = connection(server.base_url, client)
        async with source.stream(b"{}") as events:
            assert [event async for event in events] == [{"a": 1}]
        await source.aclose()
        source._transport = httpx2.AsyncHTTPTransport(verify=False)
        assert await collect(source) == ([{"a": 2}], None)


REFUSED = Answer(
    {"error": {"message": "slow down", "code": "rate_limit_exceeded"}},
    status=429,
    headers={"retry-after": "7"},
)


@BOTH
async def test_an_error_status_is_told_as_for_a_reply_in_one_piece(client: OpenClient) -> None:
    events, error = await failure(REFUSED, client)
    assert events == []
    assert (error.kind, error.status, error.retry_after) == ("provider", 429, 7)
    assert error.retryable
    assert "slow down" in str(error)


@BOTH
async def test_nobody_follows_a_redirect(client: OpenClient) -> None:
    with ProviderServer(stream({"a": 1})) as there:
        answer = Answer(status=307, headers={"location": f"{there.base_url}/chat"})
        _, error = await failure(answer, client)
    assert there.requests == []
    assert (error.kind, error.status) == ("provider", 307)
    assert "sends you on" in str(error)


IN_THE_MIDDLE = [
    ("dropped", stream({"a": 1}, ending=Ending.DROPPED), "connection"),
    ("silence", stream({"a": 1}, ending=Ending.HANGING), "timeout"),
    ("not JSON", stream({"a": 1}, "{broken", {"b": 2}), "bad_response"),
    ("not UTF-8", stream({"a": 1}, b'{"a": "\xff"}'), "bad_response"),
    ("too deep", stream({"a": 1}, "[" * 100_000), "bad_response"),
    ("a number too long", stream({"a": 1}, "9" * 10_000), "bad_response"),
    ("no object", stream({"a": 1}, [1], {"b": 2}), "bad_response"),
    ("a number", stream({"a": 1}, "5"), "bad_response"),
]


@BOTH
@pytest.mark.parametrize(("answer", "kind"), [row[1:] for row in IN_THE_MIDDLE], ids=[
    row[0] for row in IN_THE_MIDDLE])  # fmt: skip
async def test_a_stream_that_breaks_is_an_error_after_what_came(
    client: OpenClient, answer: Answer, kind: str
) -> None:
    events, error = await failure(answer, client, idle=0.2)
    assert events == [{"a": 1}]
    assert (error.kind, error.retryable) == (kind, True)


AT_THE_BEGINNING = [
    ("no answer", Answer(status=None, ending=Ending.DROPPED), "connection"),
    ("no answer in time", Answer(status=None, ending=Ending.HANGING), "timeout"),
    ("a page", Answer("<html>Sign in", content_type="text/html"), "bad_response"),
    ("a reply in one piece", Answer({"choices": []}), "bad_response"),
    ("a page that does not end", Answer("<html>", ending=Ending.HANGING), "timeout"),
    ("a page that breaks off", Answer("<html>", ending=Ending.DROPPED), "connection"),
    ("an error that does not end", Answer("no", 500, ending=Ending.HANGING), "timeout"),
    ("a type that is not named", Answer(body({"a": 1}), content_type=""), "bad_response"),
    ("a page called a stream", Answer("<html>Sign in", content_type=EVENTS), "bad_response"),
    ("nothing", stream(), "bad_response"),
    ("a comment", Answer(": hello\n\n", content_type=EVENTS), "bad_response"),
    ("an event that does not end", Answer(b'data: {"a": 1}', content_type=EVENTS), "bad_response"),
]


@BOTH
@pytest.mark.parametrize(("answer", "kind"), [row[1:] for row in AT_THE_BEGINNING], ids=[
    row[0] for row in AT_THE_BEGINNING])  # fmt: skip
async def test_what_is_no_stream_is_an_error(client: OpenClient, answer: Answer, kind: str) -> None:
    events, error = await failure(answer, client, idle=0.2)
    assert events == []
    assert (error.kind, error.retryable) == (kind, True)


@pytest.mark.parametrize("kind", ["text/html", EVENTS])
async def test_what_came_in_place_of_a_stream_is_shown(kind: str) -> None:
    _, error = await failure(Answer(f"<html>Sign in {KEY}", content_type=kind))
    assert "It begins: <html>Sign in [key]" in str(error)
    assert "WORKBOOK_BASE_URL" in str(error)


async def test_a_server_that_cannot_stream_is_said_to_be_one() -> None:
    _, error = await failure(Answer({"choices": []}))
    assert "cannot stream: use the agent of chapter 4" in str(error)


@pytest.mark.parametrize("kind", [EVENTS, "Text/Event-Stream; charset=utf-8"])
async def test_the_type_of_a_stream_may_be_spelled_in_several_ways(kind: str) -> None:
    assert await asked(Answer(body({"a": 1}), content_type=kind)) == ([{"a": 1}], None)


BUSY = {"message": "busy", "type": "overloaded_error"}


@BOTH
async def test_an_error_where_a_stream_was_expected_is_the_providers(client: OpenClient) -> None:
    _, error = await failure(Answer({"error": {"message": "no", "code": 400}}), client)
    assert (error.kind, error.code, error.retryable) == ("provider", "400", False)


async def test_an_error_event_is_an_error_of_the_provider() -> None:
    events, error = await failure(stream({"a": 1}, {"error": {**BUSY, "code": 503}}))
    assert events == [{"a": 1}]
    assert (error.kind, error.type, error.retryable) == ("provider", "overloaded_error", True)
    assert "busy" in str(error)


KINDS = [("overloaded_error", True), ("rate_limit_error", True), ("invalid_request_error", False)]


@pytest.mark.parametrize(("kind", "retryable"), KINDS)
async def test_the_type_of_an_error_event_tells_what_it_means(kind: str, retryable: bool) -> None:
    said = json.dumps({"type": "error", "error": {"type": kind, "message": "busy"}})
    answer = Answer(
        body({"a": 1}) + b"event: error\ndata: " + said.encode() + b"\n\n", content_type=EVENTS
    )
    events, error = await failure(answer, anthropic_client)
    assert events == [{"a": 1}]
    assert (error.kind, error.type, error.retryable) == ("provider", kind, retryable)


@BOTH
async def test_an_error_event_that_is_no_json_is_an_error(client: OpenClient) -> None:
    answer = Answer(body({"a": 1}) + b"event: error\ndata: boom\n\n", content_type=EVENTS)
    events, error = await failure(answer, client)
    assert events == [{"a": 1}]
    assert error.kind in ("provider", "bad_response")


@BOTH
async def test_nobody_there_is_an_error_of_the_connection(client: OpenClient) -> None:
    with ProviderServer() as server:
        url = server.base_url
    _, error = await collect(connection(url, client))
    assert error is not None
    assert error.kind == "connection"
    assert "Nothing answers" in str(error)


@BOTH
async def test_a_server_that_cannot_be_reached_in_time_is_said_to_be_far(
    client: OpenClient,
) -> None:
    class Far(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            raise httpx2.ConnectTimeout("far", request=request)

    source = connection("http://127.0.0.1:1", client, transport=Far(), connect_timeout=3)
    _, error = await collect(source)
    assert error is not None
    assert error.kind == "timeout"
    assert "within 3 seconds" in str(error)


@asynccontextmanager
async def lively(said: Callable[[asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[str]:
    """A server that answers each request with what `said` writes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        try:
            await said(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


@BOTH
@pytest.mark.parametrize("said", [b": ping\n\n", b"event: ping\ndata: {}\n\n"])
async def test_pings_keep_a_reply_alive_but_not_for_ever(client: OpenClient, said: bytes) -> None:
    async def pings(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(said)
            await writer.drain()
            await asyncio.sleep(0.02)

    async with lively(pings) as url:
        _, error = await collect(connection(url, client, timeout=0.4, idle=0.15))
    assert error is not None
    assert error.kind == "timeout"
    assert "within 0.4 seconds" in str(error)


class Body(httpx2.AsyncByteStream):
    """A body of the same piece, again and again."""

    def __init__(self, piece: bytes, number: int) -> None:
        self.pieces = [piece] * number
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            yield piece

    async def aclose(self) -> None:
        self.closed = True


async def test_a_long_stream_of_short_lines_is_read() -> None:
    bounded = BoundedStream(Body(b"abc\ndef", 100), 10_000, 100, 200)
    assert len([piece async for piece in bounded]) == 100


@pytest.mark.parametrize(("limit", "line"), [(100, 1_000), (1_000, 100)])
async def test_a_body_that_is_too_long_is_hung_up_on(limit: int, line: int) -> None:
    body = Body(b"abcdef", 100)
    with pytest.raises(TooLong):
        [piece async for piece in BoundedStream(body, limit, line, 200)]
    assert body.closed


@BOTH
async def test_the_time_of_a_reply_runs_before_it_begins(client: OpenClient) -> None:
    answer = Answer(status=None, ending=Ending.HANGING)
    _, error = await failure(answer, client, timeout=0.2, idle=20)
    assert error.kind == "timeout"
    assert "within 0.2 seconds" in str(error)


@BOTH
async def test_a_reply_that_drips_ends_with_its_time(client: OpenClient) -> None:
    async def drips(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(body({"a": 1}))
            await writer.drain()
            await asyncio.sleep(0.02)

    async with lively(drips) as url:
        events, error = await collect(connection(url, client, timeout=0.3))
    assert error is not None
    assert len(events) > 2
    assert error.kind == "timeout"


@BOTH
@pytest.mark.parametrize("name", ["MAX_STREAM_BYTES", "MAX_ANSWER_BYTES"])
async def test_neither_a_stream_nor_a_line_without_an_end_is_read_for_ever(
    client: OpenClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_connection, name, 1_000_000)
    ending = b"\n" if name == "MAX_STREAM_BYTES" else b""

    async def floods(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(b"x" * 60_000 + ending)
            await writer.drain()

    async with lively(floods) as url:
        _, error = await collect(connection(url, client))
    assert error is not None
    assert error.kind == "bad_response"
    assert "longer than 1 MB" in str(error)


@BOTH
@pytest.mark.parametrize(
    ("status", "kind"), [(200, "text/html"), (500, "text/html"), (500, EVENTS)]
)
async def test_no_page_is_read_for_ever(
    client: OpenClient, status: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_connection, "MAX_ANSWER_BYTES", 1_000_000)
    answer = Answer(b"x\n" * 1_000_000, status, content_type=kind)
    with ProviderServer(answer) as server:
        _, error = await collect(connection(server.base_url, client))
        assert await asyncio.to_thread(server.closed.wait, 5)
    assert error is not None
    assert error.kind == "bad_response"
    assert "longer than 1 MB" in str(error)


@BOTH
@pytest.mark.parametrize("status", [200, 500])
async def test_a_bomb_is_not_unpacked(client: OpenClient, status: int) -> None:
    bomb = gzip.compress(b"\0" * 60_000_000, 9)
    packed = {"content-encoding": "gzip"}
    answer = Answer(bomb, status, content_type=EVENTS, headers=packed)
    await asked(stream({"a": 1}), client)  # whatever is loaded once is loaded now
    tracemalloc.start()
    try:
        _, error = await failure(answer, client)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert error.kind == ("bad_response" if status == 200 else "provider")
    assert error.retryable


ALL_FAILURES = [
    *[answer for _, answer, _ in (*IN_THE_MIDDLE, *AT_THE_BEGINNING)],
    REFUSED,
    Answer(b'event: error\ndata: {"error": {"type": "api_error"}}\n\n', content_type=EVENTS),
]


def chain(error: BaseException | None) -> list[BaseException]:
    """An error, and all that hangs on it."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        current = waiting.pop()
        if current is not None and current not in found:
            found.append(current)
            waiting += [current.__cause__, current.__context__]
    return found


@BOTH
@pytest.mark.parametrize("answer", ALL_FAILURES)
async def test_no_exception_of_a_client_hangs_on_an_error(
    client: OpenClient, answer: Answer
) -> None:
    _, error = await failure(answer, client, idle=0.2)
    assert chain(error) == [error]
    assert KEY not in str(error)


async def test_a_key_or_an_address_that_cannot_be_used_is_said_before_a_request() -> None:
    for url, key in (("nonsense", KEY), ("http://127.0.0.1:1", "")):
        with pytest.raises(ConfigError):
            EventConnection(Endpoint(url, key, "a-model"), openai_client)


async def test_an_address_that_no_client_takes_is_said() -> None:
    source = connection("http://127.0.0.1:1/\x00")
    with pytest.raises(ConfigError):
        await collect(source)


@pytest.mark.parametrize(
    ("name", "value"),
    [("HTTP_PROXY", "not a proxy::"), ("SSL_CERT_FILE", "/nonexistent")],
)
async def test_an_environment_that_no_client_can_be_made_in_is_named(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        await collect(connection("http://127.0.0.1:1", transport=None))


MARK = "\ufeff".encode()


@BOTH
@pytest.mark.parametrize("size", [1, 2, 3, 4, 1_000])
async def test_a_mark_before_the_first_event_costs_nothing(client: OpenClient, size: int) -> None:
    said = MARK + body({"a": 1}, {"b": "\ufeff"})
    pieces = [said[at : at + size] for at in range(0, len(said), size)]
    transport = httpx2.MockTransport(
        lambda _: httpx2.Response(200, headers={"content-type": EVENTS}, stream=Chunked(pieces))
    )
    source = connection("http://127.0.0.1:1/v1", client, transport=transport)
    assert await collect(source) == ([{"a": 1}, {"b": "\ufeff"}], None)


class Chunked(httpx2.AsyncByteStream):
    """A body in the given pieces."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@BOTH
@pytest.mark.parametrize("at", [0, 1])
async def test_a_nul_is_refused_for_it_may_hide_an_event(client: OpenClient, at: int) -> None:
    said = [body({"a": 1}), body({"b": 2})]
    said[at] = b"\0" + said[at]
    events, error = await failure(Answer(b"".join(said), content_type=EVENTS), client)
    assert error.kind == "bad_response"
    assert {"b": 2} not in events
