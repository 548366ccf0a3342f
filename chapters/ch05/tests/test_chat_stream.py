"""Chat Completions in pieces: one reply comes out, however a server cuts it."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.provider import Target
from chapters.ch05.accumulator import Pieces, ReportedError
from chapters.ch05.chat_calls import Whole
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.tests.bodies import (
    CHAT,
    OFFERED,
    TOOLS,
    calls,
    chunk,
    faults,
    fragment,
    garbled,
    put_together,
    send_back,
    split,
    sse,
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

OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'
W, T = "get_weather", "get_time"


def read(*events: Any, offered: frozenset[str] = OFFERED) -> AssistantMessage:
    told, reply = put_together(CHAT_STREAM, CHAT, events, offered)
    assert faults(told, reply) == ()
    return reply


def told(*events: Any) -> list[StreamEvent]:
    return put_together(CHAT_STREAM, CHAT, events)[0]


def one(*fragments: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Id, name and arguments of the calls that come out."""
    reply = read(*calls(*fragments))
    return [(call.id, call.name, call.arguments) for call in reply.calls]


A = fragment("", W, index=0, id="a")  # how a call begins where all is well
A_OSLO = [("a", W, OSLO)]

CUT = [
    ("pieces", [A, fragment('{"city":', index=0), fragment('"Oslo"}', index=0)], A_OSLO),
    ("index missing", [fragment("", W, id="a"), fragment('{"city":'), fragment('"Oslo"}')], A_OSLO),
    (
        "index null",
        [fragment("", W, index=None, id="a"), fragment(OSLO, index=None)],
        A_OSLO,
    ),
    ("index comes later", [fragment("", W, id="a"), fragment(OSLO, index=0)], A_OSLO),
    (
        "index comes later, with all the rest again",
        [fragment("", W, id="a"), fragment(OSLO, W, index=0, id="a")],
        A_OSLO,
    ),
    (
        "index missing, ids tell",
        [
            fragment("", W, id="a"),
            fragment("", T, id="b"),
            fragment(OSLO, id="a"),
            fragment("{}", id="b"),
        ],
        [("a", W, OSLO), ("b", T, "{}")],
    ),
    (
        "index is 0 for all, ids tell",
        [
            fragment("", W, index=0, id="a"),
            fragment(OSLO, index=0),
            fragment("", W, index=0, id="b"),
            fragment(ROME, index=0),
        ],
        [("a", W, OSLO), ("b", W, ROME)],
    ),
    (
        "index is 0 for all, pieces in turn",
        [
            fragment('{"city":', W, index=0, id="a"),
            fragment('{"city":', W, index=0, id="b"),
            fragment('"Oslo"}', index=0, id="a"),
            fragment('"Rome"}', index=0, id="b"),
        ],
        [("a", W, OSLO), ("b", W, ROME)],
    ),
    (
        "index is 0 for all, no ids, whole calls",
        [fragment(OSLO, W, index=0), fragment(ROME, W, index=0)],
        [("", W, OSLO), ("", W, ROME)],
    ),
    (
        "index is 0 for all, no ids, another name after whole arguments",
        [fragment(OSLO, W, index=0), fragment(None, "unknown", index=0), fragment("{}", index=0)],
        [("", W, OSLO), ("", "unknown", "{}")],
    ),
    (
        "index is 0 for all, no ids, names that are on offer",
        [fragment("", W, index=0), fragment("", T, index=0), fragment("{}", index=0)],
        [("", W, ""), ("", T, "{}")],
    ),
    (
        "index is 0 for all and the id the same, whole calls",
        [fragment(OSLO, W, index=0, id="a"), fragment(ROME, W, index=0, id="a")],
        [("a", W, OSLO), ("a", W, ROME)],
    ),
    (
        "a call that is sent once more is one call",
        [fragment(OSLO, W, index=0, id="a"), fragment(OSLO, W, index=0, id="a")],
        A_OSLO,
    ),
    (
        "the first index is not 0",
        [fragment("", W, index=3, id="a"), fragment(OSLO, index=3)],
        A_OSLO,
    ),
    (
        "pieces in turn",
        [
            fragment("", W, index=0, id="a"),
            fragment("", T, index=1, id="b"),
            fragment("{}", index=1),
            fragment(OSLO, index=0),
        ],
        [("a", W, OSLO), ("b", T, "{}")],
    ),
    (
        "id and name empty or null on what follows",
        [A, fragment('{"city":', "", index=0, id=""), {"index": 0, "id": None, "function": {
            "name": None, "arguments": '"Oslo"}'}}],
        A_OSLO,
    ),
    (
        "id and name repeated",
        [fragment('{"city":', W, index=0, id="a"), fragment('"Oslo"}', W, index=0, id="a")],
        A_OSLO,
    ),
    (
        "name repeated, and there is no id",
        [fragment('{"city":', W, index=0), fragment('"Oslo"}', W, index=0)],
        [("", W, OSLO)],
    ),
    (
        "a new id with each piece",
        [A, fragment('{"city":', index=0, id="b"), fragment('"Oslo"}', index=0, id="c")],
        A_OSLO,
    ),
    ("the id comes late", [fragment("", W, index=0), fragment(OSLO, index=0, id="a")], A_OSLO),
    ("the name comes last", [fragment(OSLO, index=0, id="a"), fragment("", W, index=0)], A_OSLO),
    (
        "a call without a name, and another one",
        [fragment("{}", index=0, id="b"), fragment(OSLO, W, index=0, id="a")],
        [("b", "", "{}"), *A_OSLO],
    ),
    ("no id at all", [fragment(OSLO, W, index=0)], [("", W, OSLO)]),
    (
        "one id for two",
        [fragment(OSLO, W, index=0, id="a"), fragment(ROME, W, index=1, id="a")],
        [("a", W, OSLO), ("a", W, ROME)],
    ),
    (
        "the name in two pieces",
        [fragment(None, "get_", index=0, id="a"), fragment(OSLO, "weather", index=0)],
        A_OSLO,
    ),
    (
        "the name grows",
        [fragment(None, "get_", index=0, id="a"), fragment(OSLO, W, index=0, id="a")],
        A_OSLO,
    ),
    (
        "the name grows from one that is on offer to another",
        [fragment(None, "read", index=0, id="a"), fragment("{}", "read_file", index=0, id="a")],
        [("a", "read_file", "{}")],
    ),
    (
        "more of a name after one on offer is not run as that one",
        [fragment(None, "read", index=0, id="a"), fragment("{}", "_mail", index=0)],
        [("a", "read_mail", "{}")],
    ),
    (
        "arguments so far, each time",
        [A, *[fragment(OSLO[:end], index=0) for end in (3, 9, len(OSLO))]],
        A_OSLO,
    ),
    (
        "pieces that begin alike are pieces",
        [A, fragment('{"a":', index=0), fragment('{"a":1}}', index=0)],
        [("a", W, '{"a":{"a":1}}')],
    ),
    (
        "two objects are not one",
        [A, fragment('{"a":1}', index=0), fragment('{"b":1}', index=0)],
        [("a", W, '{"a":1}{"b":1}')],
    ),
    ("arguments as an object", [fragment({"city": "Oslo"}, W, index=0, id="a")], [
        ("a", W, '{"city": "Oslo"}')]),
    (
        "an empty object, then text",
        [fragment({}, W, index=0, id="a"), fragment(OSLO, index=0)],
        A_OSLO,
    ),
    ("arguments empty", [A], [("a", W, "")]),
    ("arguments null", [{"index": 0, "id": "a", "function": {"name": W, "arguments": None}}], [
        ("a", W, "")]),
    ("arguments are the word null", [fragment("null", W, index=0, id="a")], [("a", W, "null")]),
    ("packed twice", [fragment(json.dumps(OSLO), W, index=0, id="a")], A_OSLO),
    ("text is no arguments", [fragment('"Oslo"', W, index=0, id="a")], [("a", W, '"Oslo"')]),
    ("a custom tool", [{"index": 0, "id": "a", "custom": {"name": W, "input": "x"}}], [
        ("a", W, "x")]),
]  # fmt: skip


@pytest.mark.parametrize(("fragments", "expected"), [row[1:] for row in CUT], ids=[
    row[0] for row in CUT])  # fmt: skip
def test_the_calls_that_were_meant_come_out(fragments: Any, expected: Any) -> None:
    assert one(*fragments) == expected


def test_two_pieces_of_a_call_may_come_in_one_chunk() -> None:
    both = [A, fragment('{"city":', index=0)]
    reply = read(chunk(tool_calls=both), *calls(fragment('"Oslo"}', index=0)))
    assert reply.calls == (ToolCall("a", W, OSLO),)


def test_the_old_way_to_call_is_one_call() -> None:
    begun = chunk(function_call={"name": W, "arguments": '{"city":'})
    reply = read(begun, chunk(function_call={"arguments": '"Oslo"}'}), chunk("function_call"))
    assert reply.calls == (ToolCall("", W, OSLO),)
    assert reply.stop is StopReason.TOOL_USE


def test_all_parts_end_after_the_last_chunk_in_order() -> None:
    assert told(
        chunk(content="Let me "),
        chunk(reasoning_content="hm"),
        chunk(tool_calls=[fragment('{"city":', W, index=0, id="a")]),
        chunk(content="see."),
        chunk(tool_calls=[fragment('"Oslo"}', index=0)]),
        chunk("tool_calls"),
    ) == [
        TextStarted(0),
        TextDelta(0, "Let me "),
        ThinkingStarted(1),
        ThinkingDelta(1, "hm"),
        ToolCallStarted(2, "a", W),
        ToolCallDelta(2, '{"city":'),
        TextDelta(0, "see."),
        ToolCallDelta(2, '"Oslo"}'),
        TextEnded(0, "Let me see."),
        ThinkingEnded(1, "hm"),
        ToolCallEnded(2, ToolCall("a", W, OSLO)),
    ]


USAGE = {"prompt_tokens": 11, "completion_tokens": 7}

SAYS = [
    ("text", [chunk(content="a"), chunk(content="b"), chunk("stop")], (Text("ab"),), "end_turn"),
    ("nothing", [chunk(content=""), chunk("stop")], (), "end_turn"),
    ("parts of a list", [chunk("stop", content=[{"text": "a"}])], (Text("a"),), "end_turn"),
    (
        "null everywhere",
        [{"choices": None}, {"choices": [{"delta": None}]}, chunk(tool_calls=None, content=None),
         {"choices": []}, chunk("stop", content="a")],
        (Text("a"),),
        "end_turn",
    ),
    ("refusal", [chunk(refusal="N"), chunk("stop", refusal="o")], (Text("No"),), "refusal"),
    ("cut off", [chunk(content="a"), chunk("length")], (Text("a"),), "max_tokens"),
    ("filtered", [chunk(content="a"), chunk("content_filter")], (Text("a"),), "content_filter"),
    ("an unknown reason", [chunk("tired", content="a")], (Text("a"),), "unknown"),
    ("calls without calls", [chunk("tool_calls", content="a")], (Text("a"),), "end_turn"),
    (
        "stop beside calls",
        [chunk("stop", tool_calls=[fragment(OSLO, W, id="a")])],
        (ToolCall("a", W, OSLO),),
        "tool_use",
    ),
    ("cut off is not taken back", [chunk("length", content="a"), chunk("stop")], (Text("a"),),
     "max_tokens"),
    ("cut off is seen late", [chunk("stop", content="a"), chunk("length")], (Text("a"),),
     "max_tokens"),
    ("thoughts under one name", [chunk(reasoning_content="hm"), chunk("stop", content="a")],
     (Thinking("hm", "reasoning_content"), Text("a")), "end_turn"),
    ("thoughts under another", [chunk(reasoning="h"), chunk("stop", reasoning="m")],
     (Thinking("hm", "reasoning"),), "end_turn"),
    ("thoughts under a third", [chunk("stop", reasoning_text="hm")],
     (Thinking("hm", "reasoning_text"),), "end_turn"),
    ("thoughts said three times",
     [chunk("stop", reasoning="hm", reasoning_content="hm", reasoning_details=[{"text": "hm"}])],
     (Thinking("hm", "reasoning_content"),), "end_turn"),
    ("a character cut in two", [chunk(content="\ud83d"), chunk("stop", content="\ude80!")],
     (Text("\U0001f680!"),), "end_turn"),
    ("half a character", [chunk(content="a\ud83d"), chunk("stop")], (Text("a\ufffd"),), "end_turn"),
    ("the other half", [chunk("stop", content="\ude80a")], (Text("\ufffda"),), "end_turn"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "content", "stop"), [row[1:] for row in SAYS], ids=[
    row[0] for row in SAYS])  # fmt: skip
def test_a_reply_is_what_it_would_be_in_one_piece(events: Any, content: Any, stop: str) -> None:
    reply = read(*events)
    assert (reply.content, reply.stop) == (content, stop)


def test_the_last_tokens_count_and_are_not_added() -> None:
    first, last = {"prompt_tokens": 11, "completion_tokens": 1}, USAGE
    ended = chunk("stop")
    assert read({**chunk(content="a"), "usage": first}, ended, {"usage": last}).usage == Usage(
        11, 7
    )
    assert read({**ended, "usage": last}, {"choices": [], "usage": None}).usage == Usage(11, 7)
    assert read(ended).usage is None


def test_half_a_reply_is_not_finished() -> None:
    for events in ([chunk(content="a")], [chunk(""), {"choices": [], "usage": USAGE}], []):
        arriving = CHAT_STREAM.accumulator(OFFERED)
        for event in events:
            list(arriving.feed(event))
        assert not arriving.finished


ERRORS = [
    {"error": {"message": "boom", "code": 500}},
    {"choices": [], "error": {"message": "boom", "code": 500}},
    {"object": "error", "message": "boom", "code": 500},
]


@pytest.mark.parametrize("event", ERRORS)
def test_an_error_in_a_chunk_is_an_error(event: Any) -> None:
    with pytest.raises(ReportedError) as raised:
        list(CHAT_STREAM.accumulator(OFFERED).feed(event))
    assert isinstance(raised.value.body, dict)
    assert raised.value.body["code"] == 500


NO_CHUNKS: list[Any] = [
    {"choices": "a"},
    {"choices": ["a"]},
    {"choices": [{"delta": "a"}]},
    chunk(content=7),
    chunk(tool_calls="a"),
    chunk(tool_calls=["a"]),
    chunk(tool_calls=[{"function": "a"}]),
]


@pytest.mark.parametrize("event", NO_CHUNKS)
def test_what_is_no_chunk_is_said(event: Any) -> None:
    with pytest.raises(UnreadableReply):
        list(CHAT_STREAM.accumulator(OFFERED).feed(event))


def test_a_request_asks_for_a_stream_and_for_its_tokens() -> None:
    request = Request((UserMessage("go"),), TOOLS)
    asked = CHAT_STREAM.fields(request, CHAT)
    assert asked == {"stream": True, "stream_options": {"include_usage": True}}
    silent = Target(replace(CHAT.provider, stream_usage=False), "a-model")
    assert CHAT_STREAM.fields(request, silent) == {"stream": True}


def test_a_body_of_events_with_comments_and_other_line_ends_is_read() -> None:
    body = b": hello\r\n\r\n" + sse(chunk(content="a"), chunk("stop"), done=True).replace(
        b"\n", b"\r\n"
    )
    assert read(*split(body)).text == "a"


WHOLE = [
    (["{}"], True),
    (['{"a":', "1}"], True),
    (['{"a":', "1"], False),
    (['{"a":"}', '"'], False),
    (['{"a":"\\', '"}', '"}'], True),
    (['{"a":"\\\\"}'], True),
    (["[1, {", "}", "]"], True),
    ([""], False),
    (["null"], False),
]


@pytest.mark.parametrize(("pieces", "expected"), WHOLE)
def test_brackets_tell_whether_arguments_are_whole(pieces: list[str], expected: bool) -> None:
    whole = Whole()
    for end in range(len(pieces)):
        whole.after(pieces[:end])
    assert whole.after(pieces) is expected


def test_a_text_in_pieces_is_the_text_however_it_is_cut() -> None:
    chance = random.Random(5)
    text = "a\U0001f680\ud83db\ude80\U0001f680"
    units = text.encode("utf-16-le", "surrogatepass")
    halves = [units[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, 18, 2)]
    expected = "a\U0001f680\ufffdb\ufffd\U0001f680"
    for _ in range(200):
        pieces, shown, rest = Pieces(), "", list(halves)
        while rest:
            size = chance.randint(0, 3)
            shown += pieces.add("".join(rest[:size]))
            rest = rest[size:]
        assert shown + pieces.end() == pieces.text == expected


WORDS: list[Any] = [
    *(None, "", "a", "\ud83d", 0, 1, -1, True, 1.5, float("nan"), [], {}, [None], [{}]),
    *({"a": "\ude80"}, "{}", '{"a":', "null", "stop", "length", W, T),
]


def test_whatever_comes_is_read_or_refused_and_can_be_sent_back() -> None:
    chance = random.Random(11)
    usual = [
        chunk(reasoning="hm"),
        {**chunk(content="a"), "usage": USAGE},
        *calls(A, fragment('{"city":', index=0), fragment('"Oslo"}', index=0)),
        *calls(fragment(OSLO, T, index=1, id="b"), fragment({"a": 1}, W, id="c")),
    ]
    read_well = 0
    for _ in range(1_500):
        events = [garbled(chance, chance.choice(usual), WORDS) for _ in range(chance.randint(1, 8))]
        try:
            reply = put_together(
                CHAT_STREAM, CHAT, [*[each for each in events if isinstance(each, dict)],
                chunk("stop")])[1]  # fmt: skip
        except (ReportedError, UnreadableReply):
            continue
        read_well += 1
        send_back(CHAT, CHAT_STREAM, reply)
    assert read_well > 300
