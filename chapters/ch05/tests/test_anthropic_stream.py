"""Anthropic's events as a reply: pure functions, no client and no server."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch05.accumulator import Accumulator, ReportedError
from chapters.ch05.anthropic_stream import ANTHROPIC_STREAM
from shared.errors import ToolError
from shared.events import (
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    Usage,
    UserMessage,
)

TARGET = Target(KNOWN["anthropic"], "a-model")
Event = dict[str, Any]

BEGUN: Event = {
    "type": "message_start",
    "message": {
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 11, "output_tokens": 1, "cache_read_input_tokens": 4},
    },
}


def start(index: int | None, kind: str, **more: Any) -> Event:
    block = {"type": kind, **more}
    return {"type": "content_block_start", "index": index, "content_block": block}


def piece(index: int | None, **delta: Any) -> Event:
    return {"type": "content_block_delta", "index": index, "delta": delta}


def text(index: int | None, said: Any) -> Event:
    return piece(index, type="text_delta", text=said)


def thought(index: int, said: Any) -> Event:
    return piece(index, type="thinking_delta", thinking=said)


def written(index: int | None, said: Any) -> Event:
    return piece(index, type="input_json_delta", partial_json=said)


def stop(index: int | None) -> Event:
    return {"type": "content_block_stop", "index": index}


def tool(index: int | None, call_id: str = "t1", name: str = "look", given: Any = None) -> Event:
    return start(index, "tool_use", id=call_id, name=name, input={} if given is None else given)


def ended(reason: str | None = "end_turn", **more: Any) -> Event:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **more}


OVER: Event = {"type": "message_stop"}


def accumulate(events: Iterable[Any]) -> tuple[list[StreamEvent], Accumulator]:
    arriving = ANTHROPIC_STREAM.accumulator(frozenset({"look"}))
    told = [told for event in events for told in arriving.feed(event)]
    return [*told, *arriving.end()], arriving


def read(*events: Event) -> AssistantMessage:
    _, arriving = accumulate(events)
    return ANTHROPIC_STREAM.wire.reply(arriving.answer(), TARGET)


def told(*events: Event) -> list[StreamEvent]:
    return accumulate(events)[0]


def test_a_request_asks_for_a_stream() -> None:
    assert ANTHROPIC_STREAM.fields(Request((UserMessage("hi"),)), TARGET) == {"stream": True}


# What a listener is told.


def test_a_reply_is_told_block_by_block_as_it_comes() -> None:
    events = [
        BEGUN,
        start(0, "thinking", thinking="", signature=""),
        thought(0, "hm"),
        piece(0, type="signature_delta", signature="c2ln"),
        stop(0),
        start(1, "redacted_thinking", data="ZGF0YQ=="),
        stop(1),
        {"type": "ping"},
        start(2, "text", text=""),
        text(2, "Let me "),
        text(2, "look."),
        stop(2),
        tool(3),
        written(3, ""),
        written(3, '{"ci'),
        written(3, 'ty": "Oslo"}'),
        stop(3),
        ended("tool_use", usage={"output_tokens": 7}),
        OVER,
    ]
    call = ToolCall("t1", "look", '{"city": "Oslo"}')
    assert told(*events) == [
        ThinkingStarted(0),
        ThinkingDelta(0, "hm"),
        ThinkingEnded(0, "hm"),
        ThinkingStarted(1),
        ThinkingEnded(1, ""),
        TextStarted(2),
        TextDelta(2, "Let me "),
        TextDelta(2, "look."),
        TextEnded(2, "Let me look."),
        ToolCallStarted(3, "t1", "look"),
        ToolCallDelta(3, '{"ci'),
        ToolCallDelta(3, 'ty": "Oslo"}'),
        ToolCallEnded(3, call),
    ]
    assert read(*events) == AssistantMessage(
        (
            Thinking("hm", "c2ln"),
            Thinking("", "ZGF0YQ==", redacted=True),
            Text("Let me look."),
            call,
        ),
        StopReason.TOOL_USE,
        "tool_use",
        Usage(15, 7, cached_tokens=4),
    )


def test_blocks_that_grow_at_the_same_time_are_kept_apart_by_their_numbers() -> None:
    events = [
        tool(0, "t1"),
        tool(1, "t2", "time"),
        written(1, '{"tz"'),
        written(0, '{"city":'),
        written(1, ':"CET"}'),
        stop(1),
        written(0, '"Oslo"}'),
        stop(0),
        ended("tool_use"),
    ]
    first, second = (
        ToolCall("t1", "look", '{"city":"Oslo"}'),
        ToolCall("t2", "time", '{"tz":"CET"}'),
    )
    assert read(*events).calls == (first, second)
    assert [each for each in told(*events) if isinstance(each, ToolCallEnded)] == [
        ToolCallEnded(1, second),
        ToolCallEnded(0, first),
    ]


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([start(0, "text", text="Hel"), text(0, "lo"), stop(0)], "it begins with some of it"),
        ([start(0, "text"), text(0, "Hello")], "nobody closed it"),
        ([start(0, "text"), text(0, None), text(0, ""), text(0, "Hello")], "some pieces are empty"),
        ([start(None, "text"), text(None, "Hello"), stop(None)], "no numbers came"),
        (
            [start(0, "text", citations=[]), text(0, "Hello"), piece(0, type="citations_delta")],
            "a citation is no text",
        ),
        ([start(0, "text"), text(0, "Hello"), stop(0), stop(0)], "it is closed twice"),
        ([start(0, "text"), stop(7), text(0, "Hello")], "another one is closed"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_text_is_told_once_and_whole(events: list[Event], why: str) -> None:
    events = [*events, ended()]
    assert read(*events).content == (Text("Hello"),), why
    shown = told(*events)
    assert (shown[0], shown[-1]) == (TextStarted(0), TextEnded(0, "Hello"))
    pieces = [each.text for each in shown if isinstance(each, TextDelta)]
    assert "".join(pieces) == "Hello"
    assert all(pieces)
    assert len(shown) == len(pieces) + 2


def test_blocks_that_all_have_the_number_0_are_blocks_of_their_own() -> None:
    events = [start(0, "text"), text(0, "a"), tool(0), written(0, "{}"), stop(0), ended("tool_use")]
    assert read(*events).content == (Text("a"), ToolCall("t1", "look", "{}"))
    assert told(*events)[:3] == [TextStarted(0), TextDelta(0, "a"), TextEnded(0, "a")]


def test_half_a_character_waits_for_its_other_half() -> None:
    events = [start(0, "text"), text(0, "a\ud83d"), text(0, "\ude00b\udc00\ud83d"), ended()]
    assert read(*events).text == "a😀b\ufffd\ufffd"
    shown = [each.text for each in told(*events) if isinstance(each, TextDelta)]
    assert "".join(shown) == "a😀b\ufffd\ufffd"


# Arguments.


@pytest.mark.parametrize(
    ("events", "raw", "arguments", "why"),
    [
        ([tool(0), stop(0)], "", {}, "no piece at all"),
        ([tool(0), written(0, ""), stop(0)], "", {}, "one piece, which is empty"),
        ([tool(0), written(0, "{}"), stop(0)], "{}", {}, "an empty object"),
        ([tool(0), written(0, '{"a":1}')], '{"a":1}', {"a": 1}, "never closed"),
        ([tool(0, given={"a": 1}), stop(0)], '{"a": 1}', {"a": 1}, "all at the beginning"),
        ([tool(0, given={"a": 1}), written(0, '{"a":2}')], '{"a":2}', {"a": 2}, "pieces count"),
        ([tool(0, given='{"a": 1}'), stop(0)], '{"a": 1}', {"a": 1}, "at the beginning, as text"),
        (
            [tool(0), written(0, '{"p":"a"}'), written(0, '{"p":"b"}')],
            '{"p":"a"}{"p":"b"}',
            None,
            "two objects are no arguments",
        ),
        ([tool(0), written(0, '{"n": 12')], '{"n": 12', None, "half an object is none"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_arguments_stay_the_text_that_came(
    events: list[Event], raw: str, arguments: Any, why: str
) -> None:
    events = [*events, ended("tool_use")]
    (call,) = read(*events).calls
    assert call.arguments == raw, why
    try:
        parsed: Any = parse_arguments(call.arguments)
    except ToolError:
        parsed = None
    assert parsed == arguments
    shown = told(*events)
    assert shown[0] == ToolCallStarted(0, "t1", "look")
    assert shown[-1] == ToolCallEnded(0, call)
    assert "".join([each.arguments for each in shown if isinstance(each, ToolCallDelta)]) == raw


# What the provider does itself, and what is new.


def test_what_the_provider_does_itself_is_no_call_of_ours() -> None:
    events = [
        start(0, "text"),
        text(0, "Searching."),
        stop(0),
        start(1, "server_tool_use", id="srvtoolu_1", name="look", input={}),
        written(1, '{"query":"x"}'),
        stop(1),
        start(2, "web_search_tool_result", tool_use_id="srvtoolu_1", content=[]),
        stop(2),
        start(3, "text"),
        text(3, "Found."),
        stop(3),
        ended("pause_turn"),
    ]
    reply = read(*events)
    assert reply.content == (Text("Searching."), Text("Found."))
    assert (reply.stop, reply.finish) == (StopReason.UNKNOWN, "pause_turn")
    assert {each.part for each in told(*events) if hasattr(each, "part")} == {0, 1}


@pytest.mark.parametrize(
    "event",
    [
        {"type": "ping"},
        {"type": "brand_new", "index": 0, "delta": {"type": "text_delta", "text": "no"}},
        piece(0, type="brand_new_delta", text="no"),
        piece(0),
        {"type": "message_delta"},
        {"type": "message_delta", "delta": None, "usage": None},
        {"type": "message_start"},
        stop(5),
    ],
)
def test_what_is_not_known_is_passed_over(event: Event) -> None:
    assert read(start(0, "text"), event, text(0, "Hi"), event, ended()).content == (Text("Hi"),)


# How it ends.


@pytest.mark.parametrize(
    ("events", "finished", "why"),
    [
        ([ended("end_turn"), OVER], True, "it says why, and that it is over"),
        ([ended("end_turn")], True, "why is enough"),
        ([OVER], False, "that it is over is not enough"),
        ([ended(None), OVER], False, "null is no reason"),
        ([ended(""), OVER], False, "nor is nothing"),
        ([], False, "it ends in the middle"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reply_has_ended_when_it_says_why(events: list[Event], finished: bool, why: str) -> None:
    early = {"type": "message_start", "message": {"stop_reason": "end_turn"}}  # says nothing
    _, arriving = accumulate([early, start(0, "text"), text(0, "Hi"), stop(0), *events])
    assert arriving.finished is finished, why
    reply = ANTHROPIC_STREAM.wire.reply(arriving.answer(), TARGET)
    assert (reply.stop is StopReason.MISSING) is not finished


@pytest.mark.parametrize(
    ("reasons", "stop_reason"),
    [
        (["end_turn"], StopReason.TOOL_USE),
        (["max_tokens"], StopReason.MAX_TOKENS),
        (["model_context_window_exceeded"], StopReason.MAX_TOKENS),
        (["max_tokens", None], StopReason.MAX_TOKENS),
        (["max_tokens", "tool_use"], StopReason.MAX_TOKENS),
        (["refusal", "end_turn"], StopReason.REFUSAL),
        (["tool_use", "refusal"], StopReason.REFUSAL),
        (["brand_new", "tool_use"], StopReason.UNKNOWN),
    ],
)
def test_a_reason_not_to_use_a_reply_is_not_taken_back(
    reasons: Sequence[str | None], stop_reason: StopReason
) -> None:
    reply = read(tool(0), written(0, "{}"), stop(0), *map(ended, reasons))
    assert reply.stop is stop_reason


def test_why_a_reply_was_refused_is_its_text() -> None:
    details = {"category": "x", "explanation": "I may not."}
    delta = {"stop_reason": "refusal", "stop_details": details}
    reply = read(BEGUN, {"type": "message_delta", "delta": delta})
    assert (reply.stop, reply.text) == (StopReason.REFUSAL, "I may not.")


@pytest.mark.parametrize(
    ("said", "usage", "why"),
    [
        ([{"output_tokens": 7}], Usage(15, 7, 4), "the last total counts, and is not added"),
        ([{"output_tokens": 3}, {"output_tokens": 7}], Usage(15, 7, 4), "so with each"),
        ([{"output_tokens": 7, "input_tokens": None}], Usage(15, 7, 4), "null says nothing"),
        ([{"input_tokens": 20}], Usage(24, 1, 4), "the whole input can be told later"),
        ([None], Usage(15, 1, 4), "what the beginning said stays"),
        (
            [{"output_tokens": 7, "output_tokens_details": {"thinking_tokens": 5}}],
            Usage(15, 7, 4, reasoning_tokens=5),
            "thinking is a part of the output",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_tokens_are_counted_once(said: list[Any], usage: Usage, why: str) -> None:
    events = [BEGUN, *[ended("end_turn", usage=numbers) for numbers in said]]
    assert read(*events).usage == usage, why


def test_a_reply_without_numbers_has_no_usage() -> None:
    assert read(start(0, "text"), text(0, "Hi"), ended()).usage is None


# What is no reply.

OVERLOADED = {"type": "overloaded_error", "message": "Overloaded"}


@pytest.mark.parametrize(
    ("event", "body"),
    [
        ({"type": "error", "error": OVERLOADED}, OVERLOADED),
        ({"error": OVERLOADED}, OVERLOADED),
        ({"type": "error", "message": "no"}, {"type": "error", "message": "no"}),
        ({"type": "error", "error": "no"}, "no"),
    ],
)
def test_an_error_in_the_stream_is_reported(event: Event, body: object) -> None:
    with pytest.raises(ReportedError) as caught:
        told(BEGUN, start(0, "text"), text(0, "Hel"), event)
    assert caught.value.body == body


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([{"choices": []}], "another API"),
        ([{"type": 5}], "a type that is none"),
        ([text(0, "Hi")], "a piece of nothing"),
        ([start(0, "text"), text(1, "Hi")], "a piece of another block"),
        ([start(0, "text"), stop(0), text(0, "Hi")], "a piece of a block that is closed"),
        ([tool(0), stop(0), written(0, "{}")], "arguments after the call was whole"),
        ([start(0, "text"), text(0, ["Hi"])], "a piece that is no text"),
        ([tool(0), written(0, {"a": 1})], "arguments that are no text"),
        ([tool(0), text(0, "Hi")], "a text in a call"),
        ([start(0, "text"), written(0, "{}")], "arguments in a text"),
        ([{"type": "content_block_start", "index": 0}], "a block that is none"),
        ([{"type": "content_block_delta", "index": 0, "delta": []}], "a piece that is none"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_stream_of_which_something_is_lost_is_not_read(events: list[Event], why: str) -> None:
    with pytest.raises(UnreadableReply):
        told(BEGUN, *events)


# Chance, and size.

LEAVES: list[Any] = [None, True, 0, 1, -1, 2.5, float("nan"), "", "text", "a\ud83d", [], {}, [{}]]
WORDS = [
    "type", "index", "delta", "content_block", "message", "usage", "error", "text", "thinking",
    "signature", "partial_json", "input", "id", "name", "stop_reason", "data", "output_tokens",
]  # fmt: skip
KINDS = [
    "message_start", "content_block_start", "content_block_delta", "content_block_stop",
    "message_delta", "message_stop", "ping", "error", "text", "tool_use", "thinking",
    "redacted_thinking", "server_tool_use", "text_delta", "input_json_delta", "thinking_delta",
    "signature_delta", "end_turn", "refusal",
]  # fmt: skip


def anything(chance: random.Random, depth: int = 0) -> Any:
    if depth > 3 or chance.random() < 0.3:
        return chance.choice([*LEAVES, *KINDS])
    made = {chance.choice(WORDS): anything(chance, depth + 1) for _ in range(chance.randrange(5))}
    return made | ({"type": chance.choice(KINDS)} if chance.random() < 0.8 else {})


def test_whatever_comes_is_a_reply_or_one_of_two_errors() -> None:
    chance = random.Random(5)
    good = [BEGUN, start(0, "text"), text(0, "a"), tool(1), written(1, "{"), stop(1), ended()]
    outcomes = set()
    for _ in range(3_000):
        events = [
            chance.choice(good) if chance.random() < 0.6 else anything(chance) for _ in range(8)
        ]
        try:
            read(*[event for event in events if isinstance(event, dict)])
            outcomes.add("read")
        except (ReportedError, UnreadableReply) as error:
            outcomes.add(type(error).__name__)
    assert outcomes == {"read", "ReportedError", "UnreadableReply"}
