"""Chat Completions: what a provider's record changes on the wire, and the way back."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.chat import CHAT, from_wire
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.wire import to_body
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from shared.provider_server import completion, wire_call

PROVIDER = Provider("local", Api.CHAT, "a server")
TARGET = Target(PROVIDER, "a-model")
PICTURE = Image("image/png", "AAAA")
SHOWN = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FOLLOWING = {"type": "text", "text": "Attached image(s) from tool result:"}
BRIDGE = {"role": "assistant", "content": "I have processed the tool results."}
READ = ToolSpec("read_file", "Reads.", {"type": "object", "properties": {"path": {}}})


def target(**changes: Any) -> Target:
    return replace(TARGET, provider=replace(PROVIDER, **changes))


def sent(*history: Message, to: Target = TARGET, system: str = "") -> list[Any]:
    messages: list[Any] = to_body(CHAT, Request(history, (), system), to)["messages"]
    return messages


def asks(*names: str) -> AssistantMessage:
    calls = [ToolCall(name, "t", "{}") for name in names]
    return AssistantMessage(tuple(calls), StopReason.TOOL_USE, origin=TARGET.origin)


def answer(call_id: str, text: str, *images: Image) -> ToolResult:
    return ToolResult(call_id, "t", text, images=images)


def result(call_id: str, text: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


# -- requests


def test_a_request_names_the_model_and_says_nothing_of_tools_that_are_not_there() -> None:
    body = to_body(CHAT, Request((UserMessage("hi"),)), TARGET)
    assert body == {"model": "a-model", "messages": [{"role": "user", "content": "hi"}]}


def test_limits_and_extra_fields_come_from_the_record() -> None:
    asked = target(token_limit_key="max_completion_tokens", max_tokens=5, extra_body={"n": 1})
    body = to_body(CHAT, Request((UserMessage("hi"),)), asked)
    assert (body["max_completion_tokens"], body["n"]) == (5, 1)


@pytest.mark.parametrize(
    ("strict", "said"),
    [(Strict.OMIT, {}), (Strict.OFF, {"strict": False}), (Strict.ON, {"strict": False})],
)
def test_a_tool_is_offered_with_its_whole_schema(strict: Strict, said: dict[str, bool]) -> None:
    body = to_body(CHAT, Request((UserMessage("hi"),), (READ,)), target(strict=strict))
    function = {"name": "read_file", "description": "Reads.", "parameters": READ.parameters}
    assert body["tools"] == [{"type": "function", "function": {**function, **said}}]


def test_a_tool_that_can_be_strict_is() -> None:
    spec = ToolSpec("t", "d", {"type": "object", "properties": {"a": {"type": "string"}}})
    body = to_body(CHAT, Request((UserMessage("hi"),), (spec,)), target(strict=Strict.ON))
    function = body["tools"][0]["function"]
    assert (function["strict"], function["parameters"]["required"]) == (True, ["a"])


def test_offers_and_calls_use_one_name() -> None:
    spec = ToolSpec("files.read", "d", {"type": "object", "properties": {}})
    call = AssistantMessage((ToolCall("c", "files.read", "{}"),), StopReason.TOOL_USE)
    body = to_body(CHAT, Request((UserMessage("hi"), call), (spec,)), TARGET)
    called = body["messages"][1]["tool_calls"][0]["function"]["name"]
    assert called == body["tools"][0]["function"]["name"] != "files.read"


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_system_prompt_is_the_first_message(role: str) -> None:
    first, second = sent(UserMessage("hi"), to=target(system_role=role), system="Be \ud83d brief.")
    assert first == {"role": role, "content": "Be \ufffd brief."}
    assert second["role"] == "user"


# -- what a person says


def test_a_text_is_a_string_and_pictures_are_parts() -> None:
    pictures = UserMessage((Text("look"), PICTURE))
    assert sent(UserMessage("hi"), pictures) == [
        {"role": "user", "content": "hi"},
        {"role": "user", "content": [{"type": "text", "text": "look"}, SHOWN]},
    ]


# -- what the model says


def test_the_text_of_a_reply_is_one_string() -> None:
    said = AssistantMessage((Text("a"), Text(""), Text("b")))
    assert sent(UserMessage("q"), said)[1] == {"role": "assistant", "content": "ab"}


@pytest.mark.parametrize("empty", ["", None])
def test_beside_calls_stands_what_the_server_takes_for_no_text(empty: str | None) -> None:
    wire = sent(UserMessage("q"), asks("c1"), answer("c1", "r"), to=target(empty_content=empty))[1]
    assert wire["content"] == empty
    function = {"name": "t", "arguments": "{}"}
    assert wire["tool_calls"] == [{"id": "c1", "type": "function", "function": function}]


def test_arguments_stay_the_text_that_the_model_wrote() -> None:
    text = '{ "b": 1.0, "a": "ä" }'
    said = AssistantMessage((ToolCall("c", "t", text),), StopReason.TOOL_USE)
    assert sent(UserMessage("q"), said)[1]["tool_calls"][0]["function"]["arguments"] == text


def thinks(*thoughts: Thinking, origin: Origin = TARGET.origin) -> AssistantMessage:
    return AssistantMessage((*thoughts, Text("a")), origin=origin)


NAMED = Thinking("h1", "reasoning_content"), Thinking("h2", "reasoning_content")


@pytest.mark.parametrize(
    ("said", "to", "extra"),
    [
        pytest.param(thinks(*NAMED), TARGET, {"reasoning_content": "h1\nh2"}, id="as it came"),
        pytest.param(thinks(Thinking("h", "reasoning")), TARGET, {"reasoning": "h"}, id="its name"),
        pytest.param(thinks(*NAMED), target(echo_reasoning=False), {}, id="not wanted"),
        pytest.param(thinks(*NAMED, origin=Origin("a", "b", "c")), TARGET, {}, id="of another"),
        pytest.param(thinks(Thinking("h")), TARGET, {}, id="unsigned"),
        pytest.param(thinks(Thinking("h", "content")), TARGET, {}, id="no name of a thought"),
    ],
)
def test_thinking_goes_back_under_the_name_under_which_it_came(
    said: AssistantMessage, to: Target, extra: dict[str, str]
) -> None:
    assert sent(UserMessage("q"), said, to=to)[1] == {"role": "assistant", "content": "a", **extra}


# -- results


def test_an_empty_result_does_not_look_like_a_fault() -> None:
    assert sent(UserMessage("q"), asks("c1"), answer("c1", ""))[2] == result(
        "c1", "(no tool output)"
    )


def test_pictures_of_all_results_follow_in_one_message() -> None:
    history = (asks("c1", "c2"), answer("c1", "cap", PICTURE), answer("c2", "", PICTURE))
    assert sent(UserMessage("q"), *history)[2:] == [
        result("c1", "cap"),
        result("c2", "(see attached image)"),
        {"role": "user", "content": [FOLLOWING, SHOWN, SHOWN]},
    ]


@pytest.mark.parametrize(
    ("text", "content"),
    [("cap", [{"type": "text", "text": "cap"}, SHOWN]), ("", [SHOWN])],
)
def test_pictures_stand_in_the_result_where_the_server_takes_them(
    text: str, content: list[Any]
) -> None:
    history = (UserMessage("q"), asks("c1"), answer("c1", text, PICTURE))
    assert sent(*history, to=target(result_images=True))[2:] == [
        {"role": "tool", "tool_call_id": "c1", "content": content}
    ]


def test_a_result_repeats_the_name_of_its_tool_where_the_server_wants_it() -> None:
    history = (UserMessage("q"), asks("c1"), answer("c1", "r"))
    assert sent(*history, to=target(result_name=True))[2] == {**result("c1", "r"), "name": "t"}


@pytest.mark.parametrize(
    ("images", "pictures"),
    [((), []), ((PICTURE,), [{"role": "user", "content": [FOLLOWING, SHOWN]}])],
    ids=["text", "a picture"],
)
def test_a_server_that_insists_gets_one_reply_between_results_and_a_person(
    images: tuple[Image, ...], pictures: list[Any]
) -> None:
    history = (asks("c1"), answer("c1", "r", *images), UserMessage("n"), UserMessage("m"))
    assert sent(UserMessage("q"), *history, to=target(reply_after_results=True))[2:] == [
        result("c1", "r"),
        BRIDGE,
        *pictures,
        {"role": "user", "content": "n"},
        {"role": "user", "content": "m"},
    ]


def test_no_reply_is_put_before_one_of_the_model() -> None:
    history = (UserMessage("q"), asks("c1"), answer("c1", "r"), AssistantMessage((Text("a"),)))
    assert BRIDGE not in sent(*history, to=target(reply_after_results=True))


# -- replies


def test_a_reply_comes_back_as_it_was_meant() -> None:
    body = completion(wire_call("c1", "t", {"a": 1}), text="see")
    assert from_wire(body, TARGET).content == (
        Text("see"),
        ToolCall("c1", "t", json.dumps({"a": 1})),
    )


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ({"reasoning_content": "hm"}, (Thinking("hm", "reasoning_content"), Text("a"))),
        ({"reasoning": "hm"}, (Thinking("hm", "reasoning"), Text("a"))),
        ({"reasoning_content": "", "reasoning_text": "x\ud83d"},
         (Thinking("x\ufffd", "reasoning_text"), Text("a"))),
        ({"reasoning_content": None}, (Text("a"),)),
        ({"reasoning": {"text": "hm"}}, (Text("a"),)),
    ],
)  # fmt: skip
def test_thinking_is_kept_with_the_name_under_which_it_came(
    message: dict[str, Any], content: tuple[Any, ...]
) -> None:
    body = completion(text="a")
    body["choices"][0]["message"].update(message)
    assert from_wire(body, TARGET).content == content


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (None, None),
        ([], None),
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(9, 2)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 3},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
            Usage(9, 5, 4, 3, 2),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
         Usage(9, 2, 4)),
        ({"prompt_tokens": "9", "completion_tokens": True, "prompt_tokens_details": None},
         Usage(0, 0)),
    ],
)  # fmt: skip
def test_tokens_are_counted_once(said: Any, usage: Usage | None) -> None:
    assert from_wire({**completion(text="a"), "usage": said}, TARGET).usage == usage


@pytest.mark.parametrize(
    ("finish", "calls", "required", "stop"),
    [
        ("stop", True, True, StopReason.TOOL_USE),
        ("tool_calls", False, True, StopReason.END_TURN),
        ("length", True, True, StopReason.MAX_TOKENS),
        ("content_filter", False, True, StopReason.CONTENT_FILTER),
        ("moon", False, True, StopReason.UNKNOWN),
        (None, True, True, StopReason.MISSING),
        (None, True, False, StopReason.TOOL_USE),
        (None, False, False, StopReason.END_TURN),
    ],
)
def test_what_a_reply_holds_counts_more_than_how_its_end_is_called(
    finish: str | None, calls: bool, required: bool, stop: StopReason
) -> None:
    body = completion(*([wire_call("c1", "t", {})] if calls else []), text="a")
    body["choices"][0]["finish_reason"] = finish
    assert from_wire(body, target(finish_required=required)).stop is stop


@pytest.mark.parametrize("body", [None, [], {}, {"choices": []}, {"choices": [{"message": 1}]}])
def test_what_is_no_completion_is_unreadable(body: Any) -> None:
    with pytest.raises(UnreadableReply):
        from_wire(body, TARGET)
