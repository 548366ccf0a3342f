"""Gemini's events as a reply: pure functions, no client and no server."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.gemini import assistant
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch05.accumulator import Accumulator, ReportedError
from chapters.ch05.gemini_stream import GEMINI_STREAM
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

TARGET = Target(KNOWN["gemini"], "a-model")
Event = dict[str, Any]
Part = dict[str, Any]
SIGNED = {"thoughtSignature": "c2ln"}


def event(*parts: Any, finish: str | None = None, **more: Any) -> Event:
    candidate: Event = {"index": 0, "content": {"role": "model", "parts": list(parts)}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})], **more}


def call(name: str = "look", args: Any = None, **more: Any) -> Part:
    return {"functionCall": {"name": name, "args": {} if args is None else args, **more}}


def say(text: str, **more: Any) -> Part:
    return {"text": text, **more}


def think(text: str, **more: Any) -> Part:
    return {"text": text, "thought": True, **more}


END = event(finish="STOP")


def accumulate(events: Iterable[Event]) -> tuple[list[StreamEvent], Accumulator]:
    arriving = GEMINI_STREAM.accumulator(frozenset({"look"}))
    told = [told for event in events for told in arriving.feed(event)]
    return [*told, *arriving.end()], arriving


def read(*events: Event) -> AssistantMessage:
    _, arriving = accumulate(events)
    return GEMINI_STREAM.wire.reply(arriving.answer(), TARGET)


def told(*events: Event) -> list[StreamEvent]:
    return accumulate(events)[0]


def test_a_request_goes_to_another_address_and_is_the_same_otherwise() -> None:
    assert GEMINI_STREAM.wire.path(TARGET) == "/v1beta/models/a-model:streamGenerateContent"
    assert GEMINI_STREAM.fields(Request((UserMessage("hi"),)), TARGET) == {}


# What a listener is told.


def test_a_reply_is_told_part_by_part_and_calls_come_whole() -> None:
    events = [
        event(think("h")),
        event(think("m")),
        event(say("Let me ")),
        event(say("look.")),
        event(call(args={"city": "Oslo"}, id="fc1") | SIGNED, call("time")),
        event(
            finish="STOP",
            usageMetadata={
                "promptTokenCount": 11,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 2,
            },
        ),
    ]
    first = ToolCall("fc1", "look", '{"city": "Oslo"}', "c2ln")
    second = ToolCall("", "time", "{}")
    assert told(*events) == [
        ThinkingStarted(0),
        ThinkingDelta(0, "h"),
        ThinkingDelta(0, "m"),
        ThinkingEnded(0, "hm"),
        TextStarted(1),
        TextDelta(1, "Let me "),
        TextDelta(1, "look."),
        TextEnded(1, "Let me look."),
        ToolCallStarted(2, "fc1", "look"),
        ToolCallDelta(2, '{"city": "Oslo"}'),
        ToolCallEnded(2, first),
        ToolCallStarted(3, "", "time"),
        ToolCallDelta(3, "{}"),
        ToolCallEnded(3, second),
    ]
    assert read(*events) == AssistantMessage(
        (Thinking("hm"), Text("Let me look."), first, second),
        StopReason.TOOL_USE,
        "STOP",
        Usage(11, 7, reasoning_tokens=2),
    )


@pytest.mark.parametrize(
    ("parts", "content", "why"),
    [
        ([say("a"), say("b")], (Text("ab"),), "pieces of a text are one text"),
        ([think("a"), think("b")], (Thinking("ab"),), "pieces of a thought are one thought"),
        ([say("a"), think("b"), say("c")], (Text("a"), Thinking("b"), Text("c")), "of one kind"),
        ([say("a"), call(), say("b")], (Text("a"), ToolCall("", "look", "{}"), Text("b")), "order"),
        (
            [say("a"), say("b", **SIGNED), say("c")],
            (Text("a"), Text("b", "c2ln"), Text("c")),
            "what is signed is a part of its own",
        ),
        ([say("a"), say("", **SIGNED)], (Text("a"), Text("", "c2ln")), "also if it is empty"),
        (
            [say("a", **SIGNED), say("b", **SIGNED)],
            (Text("a", "c2ln"), Text("b", "c2ln")),
            "twice signed, two parts",
        ),
        (
            [think("a"), think("", **SIGNED), say("b")],
            (Thinking("a"), Thinking("", "c2ln"), Text("b")),
            "a thought is signed like a text",
        ),
        ([say("a"), say(""), say("b")], (Text("ab"),), "an empty piece is none"),
        ([say("a"), {"inlineData": {}}, {}, say("b")], (Text("ab"),), "other parts are left out"),
        ([say("a\ud83d"), say("\ude00b\ud83d")], (Text("a😀b\ufffd"),), "a character in halves"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_pieces_are_joined_and_signatures_stay_where_they_were(
    parts: list[Part], content: Any, why: str
) -> None:
    events = [*map(event, parts), END]
    assert read(*events).content == content, why
    assert read(event(*parts, finish="STOP")).content == content  # however they are cut
    shown = told(*events)
    ends = [each.text for each in shown if isinstance(each, (TextEnded, ThinkingEnded))]
    assert ends == [part.text for part in content if not isinstance(part, ToolCall)]
    deltas = [each.text for each in shown if isinstance(each, (TextDelta, ThinkingDelta))]
    assert "".join(deltas) == "".join(ends)
    assert all(deltas)
    starts = [
        each.part
        for each in shown
        if isinstance(each, (TextStarted, ThinkingStarted, ToolCallStarted))
    ]
    assert starts == list(range(len(content)))


def test_what_came_signed_goes_back_on_the_same_part() -> None:
    parts = [think("hm"), call(args={"a": 1}) | SIGNED, call("time"), say("", **SIGNED)]
    reply = replace(read(*map(event, parts), END), origin=TARGET.origin)
    assert assistant(reply, TARGET)["parts"] == parts


@pytest.mark.parametrize("name", ["partialArgs", "willContinue"])
def test_a_call_in_pieces_is_not_taken_for_a_call_without_arguments(name: str) -> None:
    """It was not asked for. `{}` in place of what is still to come would be run."""
    with pytest.raises(UnreadableReply, match="in pieces"):
        told(event(call("look", {}, **{name: True})), END)


def test_only_the_first_answer_counts() -> None:
    other = event(say("no"))
    other["candidates"][0]["index"] = 1
    assert read(event(say("yes")), other, END).text == "yes"


@pytest.mark.parametrize(
    "passed_over",
    [
        {},
        {"modelVersion": "m", "responseId": "r"},
        {"candidates": None},
        {"candidates": [{"index": 0}]},
        {"candidates": [{"content": {"role": "model"}, "safetyRatings": []}]},
        {"brandNew": {"error": 1}},
        {"usageMetadata": None, "promptFeedback": None},
    ],
)
def test_what_is_not_known_is_passed_over(passed_over: Event) -> None:
    assert read(passed_over, event(say("a")), passed_over, event(say("b")), END).text == "ab"


# How it ends.


@pytest.mark.parametrize(
    ("events", "stop", "finish", "why"),
    [
        ([event(say("Hi")), END], StopReason.END_TURN, "STOP", "a text"),
        ([event(say("Hi"), finish="STOP")], StopReason.END_TURN, "STOP", "all at once"),
        ([event(call()), END], StopReason.TOOL_USE, "STOP", "calls end so, too"),
        ([event(call(), finish="MAX_TOKENS")], StopReason.MAX_TOKENS, "MAX_TOKENS", "cut off"),
        ([event(think("t")), event(finish="MAX_TOKENS")], StopReason.MAX_TOKENS, "MAX_TOKENS", "!"),
        ([event(finish="MAX_TOKENS"), END], StopReason.MAX_TOKENS, "MAX_TOKENS", "not taken back"),
        ([END, event(finish="SAFETY")], StopReason.CONTENT_FILTER, "SAFETY", "worse comes later"),
        ([event(say("Hi")), END, event()], StopReason.END_TURN, "STOP", "nothing comes later"),
        (
            [event(finish="MALFORMED_FUNCTION_CALL")],
            StopReason.UNKNOWN,
            "MALFORMED_FUNCTION_CALL",
            "no call that can be read",
        ),
        (
            [{"promptFeedback": {"blockReason": "SAFETY"}}],
            StopReason.CONTENT_FILTER,
            "SAFETY",
            "the prompt is not answered",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_a_reply_ends_with_a_reason(
    events: list[Event], stop: StopReason, finish: str, why: str
) -> None:
    _, arriving = accumulate(events)
    assert arriving.finished, why
    reply = read(*events)
    assert (reply.stop, reply.finish) == (stop, finish)


@pytest.mark.parametrize(
    ("events", "why"),
    [
        ([], "nothing came"),
        ([{}], "nothing was said"),
        ([event(say("Hi"))], "it ends in the middle"),
        ([event(call())], "also behind a whole call"),
        ([event(say("Hi")), {"promptFeedback": {"blockReason": "SAFETY"}}], "begun, then blocked"),
        ([{"promptFeedback": {"safetyRatings": []}}], "not blocked"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_reply_without_a_reason_has_not_ended(events: list[Event], why: str) -> None:
    _, arriving = accumulate(events)
    assert not arriving.finished, why


def test_the_last_number_of_tokens_counts() -> None:
    first = {"promptTokenCount": 11, "thoughtsTokenCount": 2}
    last = {"promptTokenCount": 11, "candidatesTokenCount": 5, "cachedContentTokenCount": 4}
    events = [event(say("a"), usageMetadata=first), event(finish="STOP", usageMetadata=last)]
    assert read(*events, {"usageMetadata": None}).usage == Usage(11, 7, 4, reasoning_tokens=2)
    assert read(event(say("a")), END).usage is None


# What is no reply.


def test_an_error_in_the_stream_is_reported() -> None:
    body = {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}
    with pytest.raises(ReportedError) as caught:
        told(event(say("Hel")), {"error": body})
    assert caught.value.body == body


@pytest.mark.parametrize(
    "broken",
    [
        {"candidates": {}},
        {"candidates": ["a"]},
        {"candidates": [{"content": "Hi"}]},
        {"candidates": [{"content": {"parts": "Hi"}}]},
        {"candidates": [{"content": {"parts": ["Hi"]}}]},
        event({"functionCall": "look"}),
    ],
)
def test_an_event_of_another_shape_is_not_read(broken: Event) -> None:
    with pytest.raises(UnreadableReply):
        told(event(say("Hel")), broken)


# Chance, and size.

LEAVES: list[Any] = [None, True, 0, 1, 2.5, float("nan"), "", "text", "a\ud83d", "STOP", [], {}]
WORDS = [
    "candidates", "index", "content", "parts", "text", "thought", "thoughtSignature", "name",
    "functionCall", "args", "id", "finishReason", "usageMetadata", "promptFeedback", "error",
    "blockReason", "promptTokenCount", "willContinue",
]  # fmt: skip


def anything(chance: random.Random, depth: int = 0) -> Any:
    if depth > 5 or chance.random() < 0.2:
        return chance.choice(LEAVES)
    if chance.random() < 0.3:
        return [anything(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {chance.choice(WORDS): anything(chance, depth + 1) for _ in range(chance.randrange(5))}


def test_whatever_comes_is_a_reply_or_one_of_two_errors() -> None:
    chance = random.Random(5)
    good = [event(say("a")), event(think("b")), event(call()), event(say("", **SIGNED)), END]
    outcomes = set()
    for _ in range(3_000):
        events = [
            event(anything(chance), finish=chance.choice([None, "STOP"]))
            if chance.random() < 0.2
            else chance.choice(good)
            if chance.random() < 0.7
            else anything(chance)
            for _ in range(6)
        ]
        try:
            read(*[event for event in events if isinstance(event, dict)])
            outcomes.add("read")
        except (ReportedError, UnreadableReply) as error:
            outcomes.add(type(error).__name__)
    assert outcomes == {"read", "ReportedError", "UnreadableReply"}
