"""The frame of every API: a body made of pure functions, and a reply as it enters the history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.chat import CHAT
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.repair import Group
from chapters.ch04.wire import (
    Wire,
    arguments_object,
    encode,
    finish,
    finished,
    merged,
    objects,
    to_body,
    tokens,
    words,
)
from shared.errors import ConfigError
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolSpec,
    UserMessage,
)

PROVIDER = Provider("local", Api.CHAT, "a server")
TARGET = Target(PROVIDER, "a-model")
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def spec(name: str, **properties: Any) -> ToolSpec:
    return ToolSpec(name, "d", {"type": "object", "properties": properties})


# -- bodies


def counted(number: int) -> Request:
    return Request((UserMessage("hi"),), tuple(spec(f"tool_{each}") for each in range(number)))


def test_more_tools_than_the_provider_takes_are_refused_before_anything_is_sent() -> None:
    small = replace(TARGET, provider=replace(PROVIDER, max_tools=3))
    assert len(to_body(CHAT, counted(3), small)["tools"]) == 3
    expected = "local takes at most 3 tools, and 4 are on offer.* raise WORKBOOK_MAX_TOOLS"
    with pytest.raises(ConfigError, match=expected):
        to_body(CHAT, counted(4), small)


def test_a_provider_without_a_limit_takes_them_all() -> None:
    assert len(to_body(CHAT, counted(500), TARGET)["tools"]) == 500


@pytest.mark.parametrize(
    "schema",
    [{"type": "string"}, {"type": ["object", "null"]}, {"anyOf": [NOTHING]}, {"$ref": "#/$defs/a"}],
)
def test_a_schema_that_is_not_that_of_an_object_is_refused_before_anything_is_sent(
    schema: dict[str, Any],
) -> None:
    tools = (spec("fine"), ToolSpec("odd", "d", schema))
    with pytest.raises(ConfigError, match="'odd' is not that of an object"):
        to_body(CHAT, Request((UserMessage("hi"),), tools), TARGET)


def test_extra_fields_have_the_last_word() -> None:
    record = replace(PROVIDER, max_tokens=5, extra_body={"max_tokens": 6, "n": 1})
    body = to_body(CHAT, counted(0), replace(TARGET, provider=record))
    assert (body["max_tokens"], body["n"]) == (6, 1)


def test_an_object_that_both_have_is_one_of_both() -> None:
    extra = {"generationConfig": {"temperature": 0}, "a": 1}
    body = {"generationConfig": {"maxOutputTokens": 9}, "a": {"b": 2}}
    assert merged(body, extra) == {
        "generationConfig": {"maxOutputTokens": 9, "temperature": 0},
        "a": 1,
    }
    assert body == {"generationConfig": {"maxOutputTokens": 9}, "a": {"b": 2}}


def numbered(group: Group, target: Target) -> list[Any]:
    return [{"said": message} for message in group.messages]


def marked(items: list[Any], target: Target) -> list[Any]:
    return [*items[:-1], {**items[-1], "last": True}]


PLAIN = Wire(
    "items",
    path=lambda target: "/",
    tools=lambda specs, target: {"offer": len(specs)},
    items=numbered,
    reply=lambda body, target: AssistantMessage(()),
    fields=lambda request, target: {},
    opening=lambda request, target: [{"opening": request.system}],
    closing=marked,
)


def test_a_body_is_opening_groups_and_a_closing_mark_on_the_last_group() -> None:
    said = UserMessage("a"), UserMessage("b")
    assert to_body(PLAIN, Request(said, (spec("t"),), "SYS"), TARGET) == {
        "offer": 1,
        "items": [{"opening": "SYS"}, {"said": said[0]}, {"said": said[1], "last": True}],
    }


def test_nothing_is_marked_where_nothing_was_said() -> None:
    assert to_body(PLAIN, Request(()), TARGET) == {"items": [{"opening": ""}]}


def test_json_is_sent_compact_in_utf_8_and_holds_no_nan() -> None:
    assert encode({"a": ["ä", 1.0]}) == '{"a":["ä",1.0]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(float("nan"))


# -- replies


def new_ids() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"new_{next(numbers)}"


def entered(*calls: ToolCall, target: Target = TARGET, **known: Any) -> AssistantMessage:
    reply = AssistantMessage((Text("see"), *calls), StopReason.TOOL_USE)
    return finish(reply, target, known.get("tools", ()), known.get("taken", set()), new_ids())


def test_a_reply_is_signed_with_its_origin_and_keeps_the_rest() -> None:
    reply = entered(ToolCall("c1", "t", "{}", "signature"))
    assert reply.origin == TARGET.origin
    assert reply.content == (Text("see"), ToolCall("c1", "t", "{}", "signature"))


@pytest.mark.parametrize(
    ("given", "taken", "ids"),
    [
        (["c1", "c2"], [], ["c1", "c2"]),
        (["c1", "c1"], [], ["c1", "new_1"]),
        (["", ""], [], ["new_1", "new_2"]),
        (["c1"], ["c1"], ["new_1"]),
        ([""], ["new_1"], ["new_2"]),
    ],
    ids=["own ids", "one twice", "none", "one of the history", "minted and taken"],
)
def test_every_call_gets_an_id_that_nobody_else_has(
    given: list[str], taken: list[str], ids: list[str]
) -> None:
    known = set(taken)
    reply = entered(*(ToolCall(each, "t", "{}") for each in given), taken=known)
    assert [call.id for call in reply.calls] == ids
    assert known == {*taken, *ids}


def test_a_call_has_the_name_that_we_gave_the_tool() -> None:
    tools = (spec("files.read"), spec("t"))
    names = [wire_name("files.read"), "t", "unknown", "files.read"]
    reply = entered(*(ToolCall("", name, "{}") for name in names), tools=tools)
    assert [call.name for call in reply.calls] == ["files.read", "t", "unknown", "files.read"]


@pytest.mark.parametrize(
    ("strict", "left"),
    [(Strict.ON, "{}"), (Strict.OFF, '{"a": null}'), (Strict.OMIT, '{"a": null}')],
)
def test_nulls_are_taken_out_only_where_they_were_asked_for(strict: Strict, left: str) -> None:
    target = replace(TARGET, provider=replace(PROVIDER, strict=strict))
    call = ToolCall("c", "t", '{"a": null}')
    reply = entered(call, target=target, tools=(spec("t", a={"type": "string"}),))
    assert reply.calls[0].arguments == left


CALL = ToolCall("c", "t", "{}")


@pytest.mark.parametrize(
    ("content", "stop", "required", "made_sure"),
    [
        ((CALL,), StopReason.END_TURN, True, StopReason.TOOL_USE),
        ((Text("a"),), StopReason.TOOL_USE, True, StopReason.END_TURN),
        ((CALL,), StopReason.MISSING, True, StopReason.MISSING),
        ((CALL,), StopReason.MISSING, False, StopReason.TOOL_USE),
        ((CALL,), StopReason.MAX_TOKENS, False, StopReason.MAX_TOKENS),
        ((CALL,), StopReason.REFUSAL, False, StopReason.REFUSAL),
    ],
)
def test_a_reply_that_is_whole_ends_for_the_reason_that_it_holds(
    content: tuple[Any, ...], stop: StopReason, required: bool, made_sure: StopReason
) -> None:
    target = replace(TARGET, provider=replace(PROVIDER, finish_required=required))
    assert finished(AssistantMessage(content, stop), target).stop is made_sure


# -- reading JSON that somebody else wrote


@pytest.mark.parametrize(
    ("value", "text"), [("a\ud83d", "a\ufffd"), ("", ""), (None, ""), (1, ""), (["a"], "")]
)
def test_words_are_clean_text_or_none(value: Any, text: str) -> None:
    assert words({"key": value}, "key") == text
    assert words({}, "key") == ""


@pytest.mark.parametrize(
    ("value", "number"), [(3, 3), (0, 0), (-1, 0), (True, 0), ("3", 0), (3.5, 0), (None, 0)]
)
def test_a_count_of_tokens_is_a_whole_number_or_none(value: Any, number: int) -> None:
    assert tokens({"a": {"b": value}}, "a", "b") == number
    assert tokens({"a": value}, "a", "b") == 0
    assert tokens([], "a") == 0


def test_a_list_of_objects_is_read_and_anything_else_is_unreadable() -> None:
    assert objects({"key": [{"a": 1}]}, "key") == [{"a": 1}]
    assert objects({"key": None}, "key") == objects({}, "key") == []
    odd: list[Any] = [{}, "text", [1], [None]]
    for value in odd:
        with pytest.raises(UnreadableReply, match="`key` is not a list of objects"):
            objects({"key": value}, "key")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"a": 1.5}', {"a": 1.5}),
        ('{"a": 1e999}', {"a": "1e999"}),
        ('{"a": -1e999}', {"a": "-1e999"}),
        ('{"a": 12345678901234567890}', {"a": 12345678901234567890}),
    ],
)
def test_arguments_as_an_object_can_always_be_sent(text: str, arguments: dict[str, Any]) -> None:
    found = arguments_object(ToolCall("c", "t", text))
    assert found == arguments
    encode(found)


def test_two_tools_that_would_be_sent_as_one_are_refused_before_anything_is_sent() -> None:
    twins = spec("read.file"), spec(wire_name("read.file"))
    with pytest.raises(ConfigError, match=r"cannot tell the tools 'read\.file' and 'read_file_"):
        to_body(CHAT, Request((UserMessage("hi"),), twins), TARGET)


@pytest.mark.parametrize(
    ("said", "shown"),
    [("stop", "stop"), ("x" * 99, "x" * 64), ("a\x1b[2J\nb\u202e", "a[2Jb"), ("", "")],
)
def test_why_a_reply_ended_is_short_and_can_be_printed(said: str, shown: str) -> None:
    assert finished(AssistantMessage((Text("hi"),), finish=said), TARGET).finish == shown
