"""Responses in pieces: the items come out whole and in order, however they were told."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch05.accumulator import ReportedError
from chapters.ch05.responses_stream import RESPONSES_STREAM
from chapters.ch05.tests.bodies import (
    OFFERED,
    RESPONSES,
    TOOLS,
    faults,
    garbled,
    put_together,
    send_back,
)
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

OSLO = '{"city":"Oslo"}'
USAGE = {"input_tokens": 11, "output_tokens": 7}


def called(number: int, arguments: str = OSLO, **more: Any) -> dict[str, Any]:
    """A call as an item that is done."""
    name = {"call_id": f"call_{number}", "name": "get_weather"}
    return {"type": "function_call", "id": f"fc_{number}", **name, "arguments": arguments, **more}


def said(text: str, number: int = 1, **more: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "content": content, **more}


def thought(*summary: str, **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"type": "reasoning", "id": "rs_1", "summary": parts, **more}


EMPTY = {"arguments": "", "input": "", "content": [], "summary": []}


def added(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    """The event with which an item begins: what it is, and nothing in it."""
    begun = {name: EMPTY.get(name, value) for name, value in item.items()}
    return {"type": "response.output_item.added", "output_index": index, "item": begun}


def done(index: int | None, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(what: str, index: int | None, piece: Any, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{what}.delta", "output_index": index, "delta": piece, **more}


def whole(what: str, index: int, **more: Any) -> dict[str, Any]:
    return {"type": f"response.{what}.done", "output_index": index, **more}


ARGUMENTS, TEXT = "function_call_arguments", "output_text"
SUMMARY = "reasoning_summary_text"


def ended(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    response = {"status": status, "output": list(output), "usage": USAGE, **more}
    return {"type": f"response.{status}", "response": response}


def put(*events: Any) -> tuple[list[StreamEvent], AssistantMessage]:
    return put_together(RESPONSES_STREAM, RESPONSES, events)


def read(*events: Any) -> AssistantMessage:
    told, reply = put(*events)
    assert faults(told, reply) == ()
    return reply


A, B = called(1), called(2, "{}")
CALLED_A = ToolCall("call_1", "get_weather", OSLO, "fc_1")
CALLED_B = ToolCall("call_2", "get_weather", "{}", "fc_2")
ARGS_A = delta(ARGUMENTS, 0, OSLO, item_id="fc_1")

TOLD = [
    ("as it should be", [added(0, A), ARGS_A, done(0, A), ended(A)], [CALLED_A]),
    ("no pieces", [done(0, A), ended(A)], [CALLED_A]),
    ("begun and done", [added(0, A), done(0, A), ended(A)], [CALLED_A]),
    ("nothing but the end", [ended(A, B)], [CALLED_A, CALLED_B]),
    ("an end without items", [added(0, A), ARGS_A, done(0, A), ended()], [CALLED_A]),
    ("never done", [added(0, A), ARGS_A, ended()], [CALLED_A]),
    ("never done but in the end", [added(0, A), ended(A)], [CALLED_A]),
    ("done without arguments", [added(0, A), ARGS_A, done(0, called(1, "")), ended()], [CALLED_A]),
    (
        "done without a name",
        [added(0, A), done(0, {"type": "function_call", "arguments": OSLO}), ended()],
        [CALLED_A],
    ),
    (
        "done with nulls",
        [added(0, A), done(0, {**A, "name": None, "call_id": None}), ended()],
        [CALLED_A],
    ),
    ("begun twice", [added(0, A), added(0, A), ARGS_A, done(0, A), ended()], [CALLED_A]),
    ("one place for all, never begun", [done(0, A), done(0, B), ended()], [CALLED_A, CALLED_B]),
    (
        "a place that something else has",
        [added(0, {"type": "web_search_call"}), done(0, A), ended()],
        [CALLED_A],
    ),
    ("a piece before its item", [ARGS_A, added(0, A), ended()], [CALLED_A]),
    ("said twice", [added(0, A), done(0, A), done(0, A), ended(A)], [CALLED_A]),
    ("pieces after the end of the item", [added(0, A), done(0, A), ARGS_A, ended()], [CALLED_A]),
    (
        "in turn",
        [added(0, A), added(1, B), delta(ARGUMENTS, 1, "{}"), ARGS_A, done(1, B), done(0, A),
         ended()],
        [CALLED_A, CALLED_B],
    ),
    (
        "done in another order, and never begun",
        [done(1, B), done(0, A), ended(A, B)],
        [CALLED_A, CALLED_B],
    ),
    (
        "an id that changes",
        [added(0, {**A, "id": "x"}), delta(ARGUMENTS, 0, OSLO, item_id="y"), done(0, A), ended()],
        [CALLED_A],
    ),
    (
        "an id for two",
        [added(0, A), added(1, {**B, "id": "fc_1"}), delta(ARGUMENTS, 1, "{}", item_id="fc_1"),
         delta(ARGUMENTS, 0, OSLO, item_id="fc_1"), ended()],
        [CALLED_A, ToolCall("call_2", "get_weather", "{}", "fc_1")],
    ),
    (
        "one place for all",
        [added(0, A), ARGS_A, done(0, A), added(0, B),
         delta(ARGUMENTS, 0, "{}", item_id="fc_2"), done(0, B), ended()],
        [CALLED_A, CALLED_B],
    ),
    (
        "one place for all, in turn",
        [added(0, A), added(0, B), ARGS_A, delta(ARGUMENTS, 0, "{}", item_id="fc_2"), ended()],
        [CALLED_A, CALLED_B],
    ),
    (
        "no place, ids tell",
        [added(None, A), added(None, B), delta(ARGUMENTS, None, OSLO, item_id="fc_1"),
         done(None, B), ended()],
        [CALLED_A, CALLED_B],
    ),
    (
        "no place and no ids",
        [added(None, called(1, id=None)), delta(ARGUMENTS, None, OSLO), ended()],
        [ToolCall("call_1", "get_weather", OSLO)],
    ),
    ("one more in the end", [added(0, A), done(0, A), ended(A, B)], [CALLED_A, CALLED_B]),
    (
        "arguments whole",
        [added(0, A), delta(ARGUMENTS, 0, '{"city"'), whole(ARGUMENTS, 0, arguments=OSLO), ended()],
        [CALLED_A],
    ),
    (
        "arguments as an object",
        [done(0, {**A, "arguments": {"city": "Oslo"}}), ended()],
        [ToolCall("call_1", "get_weather", '{"city": "Oslo"}', "fc_1")],
    ),
    (
        "a custom tool",
        [added(0, {"type": "custom_tool_call", "call_id": "c", "name": "patch"}),
         delta("custom_tool_call_input", 0, "*** B"),
         whole("custom_tool_call_input", 0, input="*** Begin"), ended()],
        [ToolCall("c", "patch", "*** Begin")],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), [row[1:] for row in TOLD], ids=[
    row[0] for row in TOLD])  # fmt: skip
def test_the_calls_that_were_meant_come_out(events: Any, expected: Any) -> None:
    reply = read({"type": "response.created", "response": {}}, *events)
    assert list(reply.content) == expected
    assert (reply.stop, reply.usage) == (StopReason.TOOL_USE, Usage(11, 7))


def test_an_item_ends_when_it_is_done_and_only_what_is_missing_is_told() -> None:
    secret = thought("One.", "Two.", encrypted_content="gAAA")
    told, reply = put(
        added(0, secret),
        delta(SUMMARY, 0, "One.", summary_index=0),
        delta(SUMMARY, 0, "Tw", summary_index=1),
        done(0, secret),
        added(1, said("Hello")),
        delta(TEXT, 1, "Hel", content_index=0),
        whole(TEXT, 1, content_index=0, text="Hello"),
        done(1, said("Hello")),
        added(2, A),
        delta(ARGUMENTS, 2, '{"city"'),
        whole(ARGUMENTS, 2, arguments=OSLO),
        done(2, A),
        ended(secret, said("Hello"), A),
    )
    assert told == [
        ThinkingStarted(0),
        ThinkingDelta(0, "One."),
        ThinkingDelta(0, "\n\n"),
        ThinkingDelta(0, "Tw"),
        ThinkingDelta(0, "o."),
        ThinkingEnded(0, "One.\n\nTwo."),
        TextStarted(1),
        TextDelta(1, "Hel"),
        TextDelta(1, "lo"),
        TextEnded(1, "Hello"),
        ToolCallStarted(2, "call_1", "get_weather"),
        ToolCallDelta(2, '{"city"'),
        ToolCallDelta(2, ':"Oslo"}'),
        ToolCallEnded(2, CALLED_A),
    ]
    assert reply.content[0] == Thinking("One.\n\nTwo.", json.dumps(secret))
    assert faults(told, reply) == ()


def test_thinking_goes_back_as_it_was_done_and_not_as_it_began() -> None:
    begun, secret = thought(encrypted_content="early"), thought(encrypted_content="late")
    finished = read(added(0, begun), done(0, secret), done(1, A), ended())
    assert b'"encrypted_content":"late"' in send_back(RESPONSES, RESPONSES_STREAM, finished)
    never = read({**added(0, begun), "item": begun}, done(1, A), ended())
    assert b"early" not in send_back(RESPONSES, RESPONSES_STREAM, never)


def test_thinking_without_a_summary_is_told_and_put_together() -> None:
    reply = read(
        added(0, thought()),
        delta("reasoning_text", 0, "h", content_index=0),
        delta("reasoning_text", 0, "m", content_index=0),
        ended(),
    )
    (part,) = reply.content
    assert isinstance(part, Thinking)
    assert part.text == "hm"


SAYS = [
    ("one text", [added(0, said("")), delta(TEXT, 0, "a"), delta(TEXT, 0, "b")], ["ab"]),
    ("nothing", [added(0, said("")), delta(TEXT, 0, "")], []),
    (
        "two texts in an item",
        [added(0, said("")), delta(TEXT, 0, "a", content_index=0),
         delta(TEXT, 0, "b", content_index=1)],
        ["a", "b"],
    ),
    ("two items", [done(0, said("a")), done(1, said("b", 2))], ["a", "b"]),
    ("in the order of their places", [done(1, said("b", 2)), done(0, said("a"))], ["a", "b"]),
    ("half a character", [added(0, said("")), delta(TEXT, 0, "a\ud83d")], ["a\ufffd"]),
    (
        "a character cut in two",
        [added(0, said("")), delta(TEXT, 0, "\ud83d"), delta(TEXT, 0, "\ude80")],
        ["\U0001f680"],
    ),
    ("a tool of the provider", [done(0, {"type": "web_search_call", "id": "ws"}),
                                done(1, said("a"))], ["a"]),
    ("an event of a later time", [{"type": "response.sung"}, done(0, said("a"))], ["a"]),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), [row[1:] for row in SAYS], ids=[
    row[0] for row in SAYS])  # fmt: skip
def test_texts_come_out_as_they_would_in_one_piece(events: Any, expected: Any) -> None:
    reply = read(*events, ended())
    assert [part.text for part in reply.content if isinstance(part, Text)] == expected
    assert reply.stop is StopReason.END_TURN


def test_what_was_said_on_the_way_keeps_its_phase() -> None:
    comment = said("Checking.", phase="commentary")
    reply = read(added(0, comment), delta(TEXT, 0, "Checking."), done(0, comment), done(1, A),
                 ended(comment, A))  # fmt: skip
    text = reply.content[0]
    assert isinstance(text, Text)
    assert json.loads(text.signature) == {"id": "msg_1", "phase": "commentary"}
    assert b'"phase":"commentary"' in send_back(RESPONSES, RESPONSES_STREAM, reply)


@pytest.mark.parametrize("pieces", [True, False])
def test_a_refusal_is_one_however_it_comes(pieces: bool) -> None:
    refused = {"type": "message", "id": "m", "content": [{"type": "refusal", "refusal": "No."}]}
    told = [added(0, refused), delta("refusal", 0, "No")] if pieces else []
    ending = [whole("refusal", 0, refusal="No.")] if pieces else [done(0, refused)]
    reply = read(*told, *ending, ended())
    assert (reply.stop, reply.text) == (StopReason.REFUSAL, "No.")


CUT_OFF = [
    ("max_output_tokens", StopReason.MAX_TOKENS),
    ("content_filter", StopReason.CONTENT_FILTER),
    ("steered", StopReason.UNKNOWN),
    (None, StopReason.UNKNOWN),
]


@pytest.mark.parametrize(("reason", "stop"), CUT_OFF)
def test_a_response_that_is_incomplete_says_why(reason: str | None, stop: StopReason) -> None:
    details = {"reason": reason} if reason else None
    end = ended(status="incomplete", incomplete_details=details)
    reply = read(added(0, A), ARGS_A, end)
    assert (reply.stop, reply.calls) == (stop, (CALLED_A,))


def test_the_name_of_the_last_event_counts_where_the_response_has_no_status() -> None:
    assert read(done(0, A), {"type": "response.completed"}).stop is StopReason.TOOL_USE
    cut = {"type": "response.incomplete", "response": {"status": None}}
    assert read(done(0, A), cut).stop is StopReason.UNKNOWN


ERRORS: list[tuple[Any, Any]] = [
    (ended(status="failed", error={"code": "server_error", "message": "x"}), "server_error"),
    (ended(status="failed"), "server_error"),
    ({"type": "response.completed", "response": {"status": "failed"}}, "server_error"),
    ({"type": "error", "code": "rate_limit_exceeded", "message": "x"}, "rate_limit_exceeded"),
    ({"type": "error", "error": {"code": "rate_limit_exceeded"}}, "rate_limit_exceeded"),
    ({"error": {"code": "x"}}, "x"),
]


@pytest.mark.parametrize(("event", "code"), ERRORS)
def test_a_failure_is_an_error_and_no_reply(event: Any, code: str) -> None:
    arriving = RESPONSES_STREAM.accumulator(OFFERED)
    list(arriving.feed(done(0, A)))
    with pytest.raises(ReportedError) as raised:
        list(arriving.feed(event))
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["code"] == code
    assert not arriving.finished


NO_EVENTS: list[Any] = [
    {},
    {"type": 7},
    {"type": "response.output_item.done"},
    {"type": "response.output_item.added", "item": "a"},
    delta(TEXT, 0, 7),
    delta(ARGUMENTS, 0, {}),
    done(0, {"type": "message", "content": "a"}),
    ended(7),
]


@pytest.mark.parametrize("event", NO_EVENTS)
def test_what_is_no_event_is_said(event: Any) -> None:
    with pytest.raises(UnreadableReply):
        list(RESPONSES_STREAM.accumulator(OFFERED).feed(event))


def test_half_a_reply_is_not_finished() -> None:
    arriving = RESPONSES_STREAM.accumulator(OFFERED)
    for event in ({"type": "response.created"}, added(0, A), ARGS_A, done(0, A)):
        list(arriving.feed(event))
    assert not arriving.finished


def test_a_request_asks_for_a_stream() -> None:
    request = Request((UserMessage("go"),), TOOLS)
    assert RESPONSES_STREAM.fields(request, RESPONSES) == {"stream": True}


WORDS: list[Any] = [
    *(None, "", "a", "\ud83d", 0, 1, -1, True, 1.5, float("nan"), [], {}, [None], [{}]),
    *({"a": "\ude80"}, "{}", "message", "reasoning", "function_call", "fc_1", "refusal"),
]


def test_whatever_comes_is_read_or_refused_and_can_be_sent_back() -> None:
    chance = random.Random(7)
    secret = thought("One.", encrypted_content="gAAA")
    usual = [
        *(added(0, A), ARGS_A, done(0, A), added(1, B), delta(ARGUMENTS, 1, "{}"), done(1, B)),
        *(added(2, said("")), delta(TEXT, 2, "a"), whole(TEXT, 2, text="ab"), done(2, said("ab"))),
        *(added(3, secret), delta(SUMMARY, 3, "One."), done(3, secret)),
        *(delta("refusal", 2, "No"), ended(A, B), ended(status="incomplete")),
    ]
    read_well = 0
    for _ in range(1_500):
        events = [garbled(chance, chance.choice(usual), WORDS) for _ in range(chance.randint(1, 9))]
        try:
            _, reply = put(*[each for each in events if isinstance(each, dict)], ended())
        except (ReportedError, UnreadableReply):
            continue
        read_well += 1
        send_back(RESPONSES, RESPONSES_STREAM, reply)
    assert read_well > 300
