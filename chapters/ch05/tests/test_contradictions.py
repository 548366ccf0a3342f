"""A stream that takes something back, says it twice or contradicts itself: nothing of it runs that
the model may not have meant."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch05.accumulator import ReportedError, StreamWire
from chapters.ch05.anthropic_stream import ANTHROPIC_STREAM
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.gemini_stream import GEMINI_STREAM
from chapters.ch05.responses_stream import RESPONSES_STREAM
from chapters.ch05.tests import test_anthropic_stream as anthropic
from chapters.ch05.tests import test_gemini_stream as gemini
from chapters.ch05.tests import test_responses_stream as responses
from chapters.ch05.tests.bodies import CHAT, OFFERED, RESPONSES, chunk, faults, put_together
from chapters.ch05.tests.test_responses_stream import ARGUMENTS, added, called, delta, done, whole
from shared.messages import FINISHED, AssistantMessage

TARGETS = {
    CHAT_STREAM: CHAT,
    RESPONSES_STREAM: RESPONSES,
    ANTHROPIC_STREAM: Target(KNOWN["anthropic"], "a-model"),
    GEMINI_STREAM: Target(KNOWN["gemini"], "a-model"),
}
Rows = list[tuple[str, list[Any]]]


def why(value: object) -> str | None:
    return value if isinstance(value, str) else None


def read(wire: StreamWire, events: Iterable[Any]) -> AssistantMessage:
    told, reply = put_together(wire, TARGETS[wire], events)
    assert faults(told, reply) == ()
    return reply


def running(wire: StreamWire, *events: Any) -> list[str]:
    """The arguments of the calls that would run."""
    reply = read(wire, events)
    return [call.arguments for call in reply.calls] if reply.stop in FINISHED else []


# Responses.

SMALL, LARGE = '{"amount": 12}', '{"amount": 1200}'
PAY = called(1, SMALL)
PAID = [added(0, PAY), delta(ARGUMENTS, 0, SMALL), done(0, PAY)]
CUT: dict[str, Any] = {"incomplete_details": {"reason": "max_output_tokens"}}
ended = responses.ended


def named(kind: str, **response: Any) -> Any:
    return {"type": f"response.{kind}", "response": {"output": [], **response}}


@pytest.mark.parametrize(
    ("reason", "events"),
    [
        ("incomplete, then completed", [*PAID, ended(status="incomplete", **CUT), ended()]),
        ("completed, then incomplete", [*PAID, ended(), ended(status="incomplete")]),
        ("cancelled, then completed", [*PAID, ended(status="cancelled"), ended()]),
        ("only its type is bad", [*PAID, named("incomplete", status="completed")]),
        ("only its status is bad", [*PAID, named("completed", status="cancelled")]),
        ("it says why it is incomplete", [*PAID, ended(**CUT)]),
        ("no status", [*PAID, named("completed", **CUT)]),
        ("an item is not whole", [*PAID[:2], done(0, {**PAY, "status": "incomplete"}), ended()]),
        ("nor in the end", [*PAID, ended({**PAY, "status": "incomplete"})]),
        ("nor when said twice", [*PAID, done(0, {**PAY, "status": "incomplete"}), ended()]),
    ],
    ids=why,
)
def test_a_response_that_once_ended_badly_stays_so(reason: str, events: list[Any]) -> None:
    assert running(RESPONSES_STREAM, *events) == [], reason


def test_a_response_that_ended_well_runs() -> None:
    assert running(RESPONSES_STREAM, *PAID, ended(PAY, incomplete_details=None)) == [SMALL]
    assert running(RESPONSES_STREAM, *PAID, ended(PAY), ended(PAY)) == [SMALL]


@pytest.mark.parametrize(
    ("reason", "events"),
    [
        ("as it began, and in pieces", [added(0, PAY) | {"item": PAY}, delta(ARGUMENTS, 0, LARGE)]),
        ("pieces, and whole", [*PAID[:2], whole(ARGUMENTS, 0, arguments=LARGE)]),
        ("pieces, and done", [*PAID[:2], done(0, called(1, LARGE))]),
        ("whole, and done", [whole(ARGUMENTS, 0, arguments=SMALL), done(0, called(1, LARGE))]),
        ("a piece is lost", [delta(ARGUMENTS, 0, '{"am'), delta(ARGUMENTS, 0, "12}"), PAID[2]]),
        ("a piece is doubled", [*PAID[:2], *PAID[1:]]),
        ("a piece behind the whole", [whole(ARGUMENTS, 0, arguments=SMALL), PAID[1]]),
        ("done twice", [*PAID, done(0, called(1, LARGE))]),
        ("done, and in the end", [*PAID, ended(called(1, LARGE))]),
        ("none in the end", [*PAID, ended(called(1, "{}"))]),
        ("another call at its place", [*PAID, ended(called(2, SMALL))]),
    ],
    ids=why,
)  # fmt: skip
def test_arguments_that_contradict_each_other_are_not_used(reason: str, events: list[Any]) -> None:
    with pytest.raises(UnreadableReply):
        read(RESPONSES_STREAM, [*events, ended()])


@pytest.mark.parametrize(
    ("reason", "events"),
    [
        ("an empty object at the beginning", [added(0, PAY) | {"item": called(1, "{}")}, PAID[1]]),
        ("whole at the beginning", [added(0, PAY) | {"item": PAY}, done(0, PAY)]),
        ("written in another way", [*PAID[:2], done(0, called(1, '{"amount":12}'))]),
        ("empty when it is done", [*PAID[:2], done(0, called(1, ""))]),
        ("begun in pieces, then whole", [delta(ARGUMENTS, 0, SMALL[:5]), done(0, PAY)]),
    ],
    ids=why,
)
def test_arguments_that_go_on_or_say_the_same_are_used(reason: str, events: list[Any]) -> None:
    assert running(RESPONSES_STREAM, *events, ended()) == [SMALL], reason


def test_a_call_that_stands_only_in_the_whole_response_is_not_lost() -> None:
    hello = [added(0, responses.said("")), delta(responses.TEXT, 0, "Hi", item_id="msg_1")]
    for item in (responses.said("Hi"), responses.said("Hi") | {"id": "changed"}):
        reply = read(RESPONSES_STREAM, [*hello, ended(PAY, item)])
        assert ([call.arguments for call in reply.calls], reply.text) == ([SMALL], "Hi")
    reply = read(RESPONSES_STREAM, [*PAID, ended(called(2, LARGE), PAY)])
    assert sorted(call.arguments for call in reply.calls) == [LARGE, SMALL]
    changed = PAY | {"id": "another"}
    assert running(RESPONSES_STREAM, *PAID, ended(responses.said("a"), changed)) == [SMALL]


# Something begins twice.


def opened(name: str) -> Any:
    return {"type": "response.created", "response": {"id": name}}


def begun(name: str) -> Any:
    return {"type": "message_start", "message": {"id": name, "content": []}}


TOOL = [anthropic.tool(0), anthropic.written(0, SMALL), anthropic.stop(0)]
USED = [*TOOL, anthropic.ended("tool_use")]
CALL: dict[str, Any] = {
    "tool_calls": [{"index": 0, "id": "a", "function": {"name": "read", "arguments": SMALL}}]
}


def chunks(*each: tuple[str, dict[str, Any]]) -> list[Any]:
    return [*[{**chunk(**said), "id": name} for name, said in each], chunk("stop")]


ROLE = {"role": "assistant"}
TWO: list[tuple[str, StreamWire, list[Any]]] = [
    ("two responses", RESPONSES_STREAM, [opened("a"), *PAID, opened("b"), ended()]),
    ("two at once", RESPONSES_STREAM, [opened("a"), opened("b"), *PAID, ended()]),
    ("two without a name", RESPONSES_STREAM, [opened(""), *PAID, opened(""), ended()]),
    ("two messages", ANTHROPIC_STREAM, [begun("a"), *TOOL, begun("b"), *USED]),
    ("the same once more", ANTHROPIC_STREAM, [begun("a"), *TOOL, begun("a"), *USED]),
    ("two at once", ANTHROPIC_STREAM, [begun("a"), begun("b"), *USED]),
    ("two completions", CHAT_STREAM, chunks(("a", ROLE), ("a", CALL), ("b", ROLE), ("b", ROLE))),
]


@pytest.mark.parametrize(("reason", "wire", "events"), TWO, ids=why)
def test_a_second_answer_in_a_stream_is_not_mixed_with_the_first(
    reason: str, wire: StreamWire, events: list[Any]
) -> None:
    with pytest.raises(UnreadableReply):
        read(wire, events)


@pytest.mark.parametrize(
    ("reason", "wire", "events"),
    [
        ("said twice", RESPONSES_STREAM, [opened("a"), opened("a"), *PAID, opened("a"), ended()]),
        ("said twice", ANTHROPIC_STREAM, [begun("a"), begun("a"), *USED]),
        ("says nothing", ANTHROPIC_STREAM, [TOOL[0], {"type": "message_start"}, *USED[1:]]),
        ("an id for each chunk", CHAT_STREAM, chunks(*[(name, ROLE | CALL) for name in "a"], *[
            (name, ROLE) for name in "bcd"])),
        ("an empty id first", CHAT_STREAM, chunks(("", {}), ("a", ROLE), ("a", CALL))),
        ("an id that changes", CHAT_STREAM, chunks(("a", ROLE), ("a", CALL), ("b", {}))),
    ],
    ids=why,
)  # fmt: skip
def test_a_beginning_that_is_repeated_or_new_ids_do_no_harm(
    reason: str, wire: StreamWire, events: list[Any]
) -> None:
    assert running(wire, *events) == [SMALL], reason


def test_a_block_that_begins_twice_is_one_call() -> None:
    assert running(ANTHROPIC_STREAM, TOOL[0], *USED) == [SMALL]
    other = anthropic.tool(0, "t2")
    assert running(ANTHROPIC_STREAM, *TOOL, other, *USED[1:]) == [SMALL, SMALL]


@pytest.mark.parametrize(
    ("wire", "events"),
    [
        (ANTHROPIC_STREAM, [anthropic.tool(0), anthropic.ended("tool_use")]),
        (ANTHROPIC_STREAM, [anthropic.tool(0), *TOOL[:0], anthropic.tool(0, "t2"), *USED[1:]]),
        (RESPONSES_STREAM, [added(0, PAY), ended()]),
        (RESPONSES_STREAM, [added(0, PAY) | {"item": called(1, "{}")}, ended()]),
    ],
)
def test_a_call_that_has_begun_and_never_came_is_no_call_without_arguments(
    wire: StreamWire, events: list[Any]
) -> None:
    with pytest.raises(UnreadableReply):
        read(wire, events)


def test_a_call_without_arguments_that_is_whole_is_one() -> None:
    assert running(ANTHROPIC_STREAM, TOOL[0], TOOL[2], anthropic.ended("tool_use")) == [""]
    assert running(RESPONSES_STREAM, added(0, PAY), done(0, called(1, "")), ended()) == [""]
    assert running(RESPONSES_STREAM, added(0, PAY), ended(called(1, "{}"))) == ["{}"]
    nothing = whole(ARGUMENTS, 0, arguments="")
    assert running(RESPONSES_STREAM, added(0, PAY), nothing, ended()) == [""]


@pytest.mark.parametrize(("value", "kept"), [
    ([], "[]"), (False, "false"), (0, "0"), ("", ""), ({}, ""), (None, "")])  # fmt: skip
def test_what_is_no_object_stays_so_that_it_can_be_refused(value: Any, kept: str) -> None:
    asked: dict[str, Any] = {
        "tool_calls": [{"index": 0, "function": {"name": "read", "arguments": value}}]
    }
    assert running(CHAT_STREAM, chunk(**asked), chunk("tool_calls")) == [kept]
    block = {"type": "tool_use", "id": "t", "name": "look", "input": value}
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    events = [start, anthropic.stop(0), anthropic.ended("tool_use")]
    assert running(ANTHROPIC_STREAM, *events) == [kept]


# An error that is there is an error.

FINISH = chunk("tool_calls")
GEMINI_ASKED = gemini.event(gemini.call(), finish="STOP")
BESIDE = {"choices": [{"index": 0, "delta": {}, "error": {"code": 502}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("reason", "wire", "events"),
    [
        ("beside the reason", CHAT_STREAM, [chunk(**CALL), BESIDE]),
        ("an empty one", CHAT_STREAM, [chunk(**CALL), FINISH, {"error": {}}]),
        ("with a message only", CHAT_STREAM, [chunk(**CALL), FINISH, {"message": "overloaded"}]),
        ("with a detail only", CHAT_STREAM, [chunk(**CALL), FINISH, {"detail": "overloaded"}]),
        ("an empty one", RESPONSES_STREAM, [*PAID, ended(), {"error": {}}]),
        ("in the response", RESPONSES_STREAM, [*PAID, ended(error={})]),
        ("an empty one", ANTHROPIC_STREAM, [*USED, {"error": {}}]),
        ("of no known type", ANTHROPIC_STREAM, [*USED, {"type": "new", "error": {"type": "x"}}]),
        ("an empty one", GEMINI_STREAM, [GEMINI_ASKED, {"error": {}}]),
    ],
    ids=why,
)  # fmt: skip
def test_an_error_that_is_there_is_an_error(
    reason: str, wire: StreamWire, events: list[Any]
) -> None:
    with pytest.raises(ReportedError):
        read(wire, events)


def test_no_error_is_none() -> None:
    none = [chunk(**CALL) | {"error": said} for said in (None, "", False)]
    assert running(CHAT_STREAM, none[0], {**FINISH, "error": ""}) == [SMALL]
    assert [running(CHAT_STREAM, each, FINISH) for each in none[1:]] == [[SMALL], [SMALL]]


def test_a_prompt_that_is_blocked_in_the_end_runs_nothing() -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    asked = GEMINI_ASKED
    assert running(GEMINI_STREAM, asked) != []
    for events in ([asked, blocked], [blocked, asked], [asked | blocked]):
        assert running(GEMINI_STREAM, *events) == []


def test_other_choices_than_the_first_are_passed_over() -> None:
    other = {
        "choices": [{"index": 1, "delta": {**CALL, "content": "b"}, "finish_reason": "length"}]
    }
    both = {"choices": [*other["choices"], *chunk(content="a")["choices"]]}
    reply = read(CHAT_STREAM, [chunk(**CALL), other, both, FINISH])
    assert ([call.arguments for call in reply.calls], reply.text) == ([SMALL], "a")


# Any value at any place.

JUNK: list[Any] = [{}, [], [[]], {"a": []}, [{}], True, 0, 7.5, None, "", "x"]

WHOLE: dict[StreamWire, list[Any]] = {
    CHAT_STREAM: [chunk(content="a", reasoning="b", **CALL), FINISH],
    RESPONSES_STREAM: [opened("a"), *PAID, whole(ARGUMENTS, 0, arguments=SMALL), ended(PAY)],
    ANTHROPIC_STREAM: [begun("a"), *USED, {"type": "message_stop"}],
    GEMINI_STREAM: [gemini.event(gemini.call(), gemini.say("a"), finish="STOP")],
}


def places(value: Any) -> Iterable[tuple[Any, Any]]:
    for key in value if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


@pytest.mark.parametrize("wire", WHOLE, ids=["chat", "responses", "anthropic", "gemini"])
def test_a_value_that_cannot_be_a_key_is_no_crash_at_any_place(wire: StreamWire) -> None:
    events = WHOLE[wire]
    for holder, key in list(places(events)):
        kept = holder[key]
        for junk in JUNK:
            holder[key] = junk
            arriving = wire.accumulator(OFFERED)
            try:
                for event in events:
                    if isinstance(event, dict):
                        list(arriving.feed(event))
                assert isinstance(arriving.rest, float | None)
                list(arriving.end())
                wire.wire.reply(arriving.answer(), TARGETS[wire])
            except (ReportedError, UnreadableReply):
                pass
        holder[key] = kept


def test_a_piece_of_a_kind_that_cannot_be_a_key_is_no_crash() -> None:
    odd = anthropic.piece(0, type={}, text="x")
    reply = read(ANTHROPIC_STREAM, [anthropic.start(0, "text"), odd, anthropic.ended("end_turn")])
    assert reply.text == ""
