"""A reply is used when it has ended, and otherwise nothing of it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from chapters.ch01.connection import openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.adapters import Access
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch05.accumulator import StreamWire
from chapters.ch05.adapters import open_streaming_model
from chapters.ch05.anthropic_stream import ANTHROPIC_STREAM
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.event_connection import EventConnection
from chapters.ch05.gemini_stream import GEMINI_STREAM
from chapters.ch05.responses_stream import RESPONSES_STREAM
from chapters.ch05.stream_errors import silent
from chapters.ch05.stream_order import told_of
from chapters.ch05.streaming import StreamingModel
from chapters.ch05.tests.bodies import CHAT, RESPONSES, TOOLS, calls, chunk, fragment, sse
from shared.errors import ConfigError, PairingError, ProviderError
from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ToolCallDelta,
    ToolCallStarted,
)
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, Ending, ProviderServer

pytestmark = pytest.mark.anyio
ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "sk-test-0123456789", "a-model")
HI = (UserMessage("hi"),)
CALL = fragment('{"city":"Oslo"}', "get_weather", index=0, id="a")


class Scripted:
    """A source whose events are written down. One that is an exception is raised."""

    def __init__(self, *events: Any, waits: bool = False) -> None:
        self.endpoint = ENDPOINT
        self.asked: list[bytes] = []
        self.open = 0
        self._events = events
        self._waits = waits

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncGenerator[AsyncIterator[Any], None]:
        self.asked.append(content)
        self.open += 1
        try:
            yield self._read()
        finally:
            self.open -= 1

    async def _read(self) -> AsyncIterator[Any]:
        for event in self._events:
            if isinstance(event, BaseException):
                raise event
            yield event
        if self._waits:
            await asyncio.Event().wait()

    async def aclose(self) -> None:
        pass


def model(source: Any, wire: StreamWire = CHAT_STREAM, target: Target = CHAT) -> StreamingModel:
    return StreamingModel(target, wire, source, new_id=lambda: "minted")


async def ask(
    source: Any,
    wire: StreamWire = CHAT_STREAM,
    target: Target = CHAT,
    *,
    history: Sequence[Any] = HI,
    tools: tuple[ToolSpec, ...] = TOOLS,
) -> tuple[list[Event], AssistantMessage | BaseException]:
    """What was told, and the reply or the error that ended it."""
    told: list[Event] = []
    try:
        reply = await model(source, wire, target).reply(Request(history, tools), told.append)
    except (ProviderError, ConfigError) as error:
        return told, error
    return told, reply


async def test_a_reply_is_told_while_it_comes_and_returned_when_it_has_ended() -> None:
    source = Scripted(chunk(content="Hel"), chunk(content="lo"), chunk("stop"))
    told, reply = await ask(source)
    assert isinstance(reply, AssistantMessage)
    assert told == [
        ReplyStarted(),
        TextStarted(0),
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        TextEnded(0, "Hello"),
        ReplyEnded(reply, None),
    ]
    assert (reply.text, reply.stop, reply.origin) == ("Hello", StopReason.END_TURN, CHAT.origin)
    assert source.open == 0
    assert b'"stream":true' in source.asked[0]
    assert b'"include_usage":true' in source.asked[0]


async def test_an_event_is_told_before_the_next_one_comes() -> None:
    told: list[Event] = []
    waiting = model(Scripted(chunk(content="Hel"), waits=True)).reply(Request(HI), told.append)
    task = asyncio.create_task(waiting)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert told == [ReplyStarted(), TextStarted(0), TextDelta(0, "Hel")]
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_calls_come_with_our_names_and_with_ids_that_nobody_has() -> None:
    spec = ToolSpec("read.file", "Read", {"type": "object", "properties": {}})
    name = wire_name(spec.name)
    before = AssistantMessage((ToolCall("a", "read.file", "{}"),), StopReason.TOOL_USE)
    history = (*HI, before, ToolResult("a", "read.file", "ok"))
    source = Scripted(*calls(fragment("{}", name, index=0, id="a")))
    _, reply = await ask(source, history=history, tools=(spec,))
    assert isinstance(reply, AssistantMessage)
    assert reply.calls == (ToolCall("minted", "read.file", "{}"),)


ADDED = {
    "type": "response.output_item.added",
    "output_index": 0,
    "item": {"type": "function_call", "id": "f", "call_id": "a", "name": "get_weather"},
}
DONE = {**ADDED, "type": "response.output_item.done"}
ENDLESS = [
    ("nothing", CHAT_STREAM, [], "bad_response"),
    ("no reason", CHAT_STREAM, [chunk(content="Hel")], "incomplete_stream"),
    ("a whole call, no reason", CHAT_STREAM, calls(CALL)[:1], "incomplete_stream"),
    ("half a call", CHAT_STREAM, calls(fragment('{"a":', "read", id="a"))[:1], "incomplete_stream"),
    ("an error", CHAT_STREAM, [*calls(CALL), {"error": {"message": "x"}}], "provider"),
    ("no chunk", CHAT_STREAM, [*calls(CALL), {"choices": 7}], "bad_response"),
    ("silence", CHAT_STREAM, [*calls(CALL), silent(ENDPOINT, 1)], "timeout"),
    ("created", RESPONSES_STREAM, [{"type": "response.created"}], "incomplete_stream"),
    ("a call that is done", RESPONSES_STREAM, [ADDED, DONE], "incomplete_stream"),
    ("failed", RESPONSES_STREAM, [ADDED, DONE, {"type": "response.failed"}], "provider"),
    ("a flat error", RESPONSES_STREAM, [ADDED, {"type": "error", "code": "x"}], "provider"),
    ("no event", RESPONSES_STREAM, [ADDED, {"type": 7}], "bad_response"),
    (
        "an answer that is none",
        RESPONSES_STREAM,
        [{"type": "response.completed", "response": {"output": 7}}],
        "bad_response",
    ),
]


@pytest.mark.parametrize(("wire", "events", "kind"), [row[1:] for row in ENDLESS], ids=[
    row[0] for row in ENDLESS])  # fmt: skip
async def test_a_reply_that_does_not_end_is_an_error_and_nothing_of_it_is_returned(
    wire: StreamWire, events: Any, kind: str
) -> None:
    source = Scripted(*events)
    told, error = await ask(source, wire, CHAT if wire is CHAT_STREAM else RESPONSES)
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == (kind, True)
    assert error.__context__ is None
    assert told[-1:] == [ReplyEnded(None, error)]
    assert [each for each in told if isinstance(each, ReplyEnded)] == told[-1:]
    assert told[:1] == ([ReplyStarted()] if events else told[-1:])
    assert source.open == 0


async def test_what_was_told_before_it_broke_off_stays_told() -> None:
    told, _ = await ask(Scripted(chunk(content="Hel"), *calls(CALL)[:1]))
    assert told[:-1] == [
        ReplyStarted(),
        TextStarted(0),
        TextDelta(0, "Hel"),
        ToolCallStarted(1, "a", "get_weather"),
        ToolCallDelta(1, '{"city":"Oslo"}'),
    ]


ERRORS = [
    ({"message": "x", "type": "invalid_request_error"}, False),
    ({"message": "x", "code": "rate_limit_exceeded"}, True),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, True),
    ({"code": 400, "message": "prompt is too long: 2 tokens"}, False),
    ({"code": "insufficient_quota"}, False),
    ({"type": "error", "error": {"type": "invalid_request_error"}}, False),
    ("boom", True),
]


@pytest.mark.parametrize(("body", "retryable"), ERRORS)
async def test_an_error_inside_means_what_its_status_would(body: Any, retryable: bool) -> None:
    _, error = await ask(Scripted(chunk(content="a"), {"error": body}))
    assert isinstance(error, ProviderError)
    assert (error.kind, error.retryable) == ("provider", retryable)


async def test_a_lenient_record_takes_a_clean_end_for_the_end() -> None:
    lenient = Target(replace(CHAT.provider, finish_required=False), "a-model")
    told, reply = await ask(Scripted(chunk(content="Hi")), target=lenient)
    assert isinstance(reply, AssistantMessage)
    assert (reply.text, reply.stop) == ("Hi", StopReason.END_TURN)
    assert told[-2:] == [TextEnded(0, "Hi"), ReplyEnded(reply, None)]
    _, error = await ask(Scripted(), target=lenient)
    assert isinstance(error, ProviderError)


@pytest.mark.parametrize("reason", ["length", "content_filter", "tired"])
async def test_a_reply_that_ended_badly_says_so_in_its_stop_reason(reason: str) -> None:
    _, reply = await ask(Scripted(*calls(CALL)[:1], chunk(reason)))
    assert isinstance(reply, AssistantMessage)
    assert reply.stop in {StopReason.MAX_TOKENS, StopReason.CONTENT_FILTER, StopReason.UNKNOWN}


async def test_cancelling_ends_the_reply_once_and_hangs_up() -> None:
    told: list[Event] = []
    source = Scripted(chunk(content="Hel"), waits=True)
    task = asyncio.create_task(model(source).reply(Request(HI), told.append))
    while not told:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    ends = [each for each in told if isinstance(each, ReplyEnded)]
    assert [(each.reply, type(each.error)) for each in ends] == [(None, asyncio.CancelledError)]
    assert told[-1] is ends[0]
    assert source.open == 0


async def test_a_request_that_cannot_be_sent_ends_before_it_starts() -> None:
    bad = (ToolSpec("a", "A", {"type": "array"}),)
    told, error = await ask(Scripted(), tools=bad)
    assert isinstance(error, ConfigError)
    assert told == [ReplyEnded(None, error)]


async def test_one_model_asks_several_times_and_starts_afresh_each_time() -> None:
    source = Scripted(chunk(content="a"), *calls(CALL))
    told: list[Event] = []
    asked = model(source)
    first = await asked.reply(Request(HI, TOOLS), told.append)
    history = (*HI, first, ToolResult(first.calls[0].id, "get_weather", "ok"))
    second = await asked.reply(Request(history, TOOLS), told.append)
    assert (first.text, second.text) == ("a", "a")
    assert {first.calls[0].id, second.calls[0].id} == {"a", "minted"}
    assert told_of(told).faults == ()
    assert told_of(told).ends == 2


LIVE = [
    (
        "whole",
        Answer(sse(chunk(content="Grüße"), *calls(CALL), done=True), piece=1),
        [ToolCall("a", "get_weather", '{"city":"Oslo"}')],
    ),
    ("no reason", Answer(sse(chunk(content="Hi"), done=True)), "incomplete_stream"),
    ("last event cut", Answer(sse(chunk(content="Hi"), chunk("stop"))[:-2]), "incomplete_stream"),
    ("dropped", Answer(sse(*calls(CALL)), ending=Ending.DROPPED), "connection"),
    ("silence", Answer(sse(*calls(CALL)), ending=Ending.HANGING), "timeout"),
    ("error", Answer(sse(*calls(CALL), {"error": {"message": "x"}})), "provider"),
]


@pytest.mark.parametrize(("answer", "expected"), [row[1:] for row in LIVE], ids=[
    row[0] for row in LIVE])  # fmt: skip
async def test_the_same_holds_through_the_client_of_the_provider(
    answer: Answer, expected: Any
) -> None:
    with ProviderServer(replace(answer, content_type="text/event-stream")) as server:
        transport = httpx2.AsyncHTTPTransport(verify=False)
        endpoint = replace(ENDPOINT, base_url=server.base_url)
        source = EventConnection(endpoint, openai_client, idle=0.3, transport=transport)
        told, got = await ask(source)
        await source.aclose()
    if isinstance(got, AssistantMessage):
        assert list(got.calls) == expected
        assert got.text == "Grüße"
    else:
        assert isinstance(got, ProviderError)
        assert got.kind == expected
    assert told_of(told).faults == ()
    assert told_of(told).ends == 1


@pytest.mark.anyio
async def test_a_history_of_which_nothing_is_left_is_not_sent() -> None:
    target = Target(KNOWN["anthropic"], "m")
    access = Access("http://127.0.0.1:9", "a-key", "m")  # where nobody answers
    async with open_streaming_model(target.provider, access) as model:
        with pytest.raises(PairingError, match="send a message first"):
            await model.reply(Request([UserMessage(" ")]), lambda event: None)


OVER = {"type": "response.completed", "response": {"status": "completed", "output": []}}
BLOCK = {"type": "tool_use", "id": "a", "name": "get_weather", "input": {"city": "Oslo"}}
STOPPED = [
    {"type": "content_block_start", "index": 0, "content_block": BLOCK},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    {"type": "message_stop"},
]
TOKENS = {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
ASKED = {"content": {"parts": [{"functionCall": {"name": "get_weather"}}]}, "finishReason": "STOP"}
ENDS = [
    ("responses", RESPONSES_STREAM, [ADDED, DONE, OVER]),
    ("messages", ANTHROPIC_STREAM, STOPPED),
    ("completions", CHAT_STREAM, [*calls(CALL), TOKENS]),
    ("gemini", GEMINI_STREAM, [{"candidates": [ASKED]}]),
]
EACH_END = pytest.mark.parametrize(
    ("wire", "events"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
TARGETS = {
    CHAT_STREAM: CHAT,
    RESPONSES_STREAM: RESPONSES,
    ANTHROPIC_STREAM: Target(KNOWN["anthropic"], "a-model"),
    GEMINI_STREAM: Target(KNOWN["gemini"], "a-model"),
}


@EACH_END
@pytest.mark.parametrize("broken", ["connection", "timeout"])
async def test_a_reply_that_has_ended_is_whole_whatever_becomes_of_the_connection(
    wire: StreamWire, events: list[Any], broken: str
) -> None:
    lost = ProviderError("gone", kind=broken, retryable=True)
    told, reply = await ask(Scripted(*events, lost), wire, TARGETS[wire])
    assert isinstance(reply, AssistantMessage), reply
    assert [call.name for call in reply.calls] == ["get_weather"]
    assert told[-1] == ReplyEnded(reply, None)
    _, error = await ask(Scripted(*events[:-1], lost), wire, TARGETS[wire])
    assert isinstance(error, ProviderError)


@EACH_END
async def test_a_server_that_does_not_close_costs_a_moment(
    wire: StreamWire, events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("chat_stream", "gemini_stream"):
        monkeypatch.setattr(f"chapters.ch05.{module}.REST_BEHIND_A_REASON", 0.05)
    source = Scripted(*events, waits=True)
    async with asyncio.timeout(5):
        _, reply = await ask(source, wire, TARGETS[wire])
    assert isinstance(reply, AssistantMessage), reply
    assert source.open == 0


@EACH_END
async def test_an_error_that_still_comes_counts(wire: StreamWire, events: list[Any]) -> None:
    for late in ({"error": {"message": "x"}}, ProviderError("no", kind="bad_response")):
        _, error = await ask(Scripted(*events, late), wire, TARGETS[wire])
        assert isinstance(error, ProviderError)


async def test_a_server_that_gives_a_reason_each_time_has_to_end_the_stream() -> None:
    lost = ProviderError("gone", kind="connection", retryable=True)
    reasons = [{"candidates": [ASKED]}] * 2
    _, error = await ask(Scripted(*reasons, lost), GEMINI_STREAM, TARGETS[GEMINI_STREAM])
    assert error is lost
    each = {**chunk("stop", content="a"), "usage": TOKENS["usage"]}
    _, error = await ask(Scripted(each, each, lost))
    assert error is lost
    _, reply = await ask(Scripted(each, each))
    assert isinstance(reply, AssistantMessage)
