"""The translation to and from Chat Completions JSON, without any connection."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import pytest

from chapters.ch01.chat_wire import UnreadableReply, from_wire, legal_arguments, to_body, to_wire
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)

SPEC = ToolSpec("shell", "Run a command.", {"type": "object", "properties": {}})


def minted() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"minted_{next(numbers)}"


def read(
    message: Any, *, finish: Any = "stop", taken: Iterable[str] = (), **more: Any
) -> AssistantMessage:
    body = {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **more}
    return from_wire(body, taken, minted())


def asks(*calls: Any, finish: str = "tool_calls", taken: Iterable[str] = ()) -> AssistantMessage:
    return read({"content": None, "tool_calls": list(calls)}, finish=finish, taken=taken)


def function(call_id: Any = "call_1", name: Any = "shell", arguments: Any = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


# What is sent


def test_a_request_is_the_system_prompt_the_history_and_the_tools_in_this_order() -> None:
    request = Request(
        (
            UserMessage("Which files are here?"),
            AssistantMessage(
                (Text("I look."), ToolCall("call_1", "shell", '{"command":"ls"}')),
                StopReason.TOOL_USE,
            ),
            ToolResult("call_1", "shell", "a.txt\n"),
        ),
        (SPEC,),
        system="You are terse.",
    )

    assert to_body(request, "a-model") == {
        "model": "a-model",
        "messages": [
            {"role": "system", "content": "You are terse."},
            {"role": "user", "content": "Which files are here?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "shell", "arguments": '{"command":"ls"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "a.txt\n"},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "shell",
                    "description": "Run a command.",
                    "parameters": {"type": "object", "properties": {}},
                },
            }
        ],
    }


def test_what_is_empty_is_left_out_and_not_sent_as_an_empty_list() -> None:
    body = to_body(Request((UserMessage("hi"), AssistantMessage((Text("Hello"),)))), "m")

    assert set(body) == {"model", "messages"}
    assert body["messages"][1] == {"role": "assistant", "content": "Hello"}


def test_a_reply_of_calls_alone_goes_back_with_empty_text_and_not_null() -> None:
    assert to_wire(AssistantMessage((ToolCall("a", "shell", "{}"),)))["content"] == ""


def test_an_empty_reply_is_not_read_back_to_the_server() -> None:
    messages = (UserMessage("one"), AssistantMessage(()), UserMessage("two"))
    assert [sent["role"] for sent in to_body(Request(messages), "m")["messages"]] == ["user"] * 2


def echoed(arguments: str, name: str = "shell") -> dict[str, str]:
    wire = to_wire(AssistantMessage((ToolCall("a", name, arguments),)))
    function: dict[str, str] = wire["tool_calls"][0]["function"]
    return function


@pytest.mark.parametrize("arguments", ['{"a":1}', '{ "a" : 1e400, "b": "\\u00e9" }', '{"你":"好"}'])
def test_good_arguments_go_back_exactly_as_the_model_wrote_them(arguments: str) -> None:
    assert echoed(arguments)["arguments"] == arguments


@pytest.mark.parametrize(
    "arguments", ["", "  ", "null", "{", '{"a":1', "[1]", '"text"', '{"a":NaN}', "[" * 100_000]
)
def test_arguments_that_are_no_json_object_go_back_as_an_empty_one(arguments: str) -> None:
    assert echoed(arguments)["arguments"] == "{}"


@pytest.mark.parametrize(
    ("name", "sent"),
    [("", "unnamed"), ("read file!", "read_file_"), ("x" * 80, "x" * 64), ("读", "_")],
)
def test_a_name_that_no_server_takes_back_is_made_legal(name: str, sent: str) -> None:
    assert echoed("{}", name)["name"] == sent


def test_half_a_surrogate_pair_never_leaves() -> None:
    half = "\ud83d"
    request = Request(
        (
            UserMessage(f"u{half}"),
            AssistantMessage((Text(f"t{half}"), ToolCall("a", "shell", f'{{"x":"{half}"}}'))),
            ToolResult("a", "shell", f"r{half}"),
            AssistantMessage((ToolCall("b", "shell", '{"x":"\\ud83d","y":"\\ud83d\\ude00"}'),)),
        ),
        system=f"s{half}",
    )

    messages = to_body(request, "m")["messages"]

    json.dumps(messages, ensure_ascii=False).encode()  # as the client does it
    assert messages[0]["content"] == "s\ufffd"
    assert json.loads(messages[2]["tool_calls"][0]["function"]["arguments"]) == {"x": "\ufffd"}
    arguments = json.loads(messages[4]["tool_calls"][0]["function"]["arguments"])
    assert arguments == {"x": "\ufffd", "y": "😀"}


# What comes back


@pytest.mark.parametrize(
    ("finish", "without_calls", "with_calls"),
    [
        ("stop", StopReason.END_TURN, StopReason.TOOL_USE),
        ("tool_calls", StopReason.END_TURN, StopReason.TOOL_USE),
        ("function_call", StopReason.END_TURN, StopReason.TOOL_USE),
        ("length", StopReason.MAX_TOKENS, StopReason.MAX_TOKENS),
        ("content_filter", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        (None, StopReason.MISSING, StopReason.MISSING),
        ("", StopReason.MISSING, StopReason.MISSING),
        ("eos", StopReason.UNKNOWN, StopReason.UNKNOWN),
        (7, StopReason.UNKNOWN, StopReason.UNKNOWN),
    ],
)
def test_why_a_reply_ended_is_said_in_our_words_and_the_providers(
    finish: Any, without_calls: StopReason, with_calls: StopReason
) -> None:
    plain = read({"content": "Hi"}, finish=finish)
    asking = asks(function(), finish=finish)

    assert (plain.stop, asking.stop) == (without_calls, with_calls)
    assert plain.finish == asking.finish == str(finish or "")


@pytest.mark.parametrize(
    ("message", "text", "calls"),
    [
        ({"content": "Hi"}, "Hi", 0),
        ({"content": None, "tool_calls": [function()]}, "", 1),
        ({"content": "Hi", "tool_calls": [function()]}, "Hi", 1),
        ({"content": None}, "", 0),
        ({"content": "", "tool_calls": []}, "", 0),
        ({"content": "Hi", "tool_calls": None}, "Hi", 0),
        ({}, "", 0),
    ],
)
def test_text_and_calls_come_in_every_combination(message: Any, text: str, calls: int) -> None:
    reply = read(message)
    assert (reply.text, len(reply.calls)) == (text, calls)
    assert len(reply.content) == bool(text) + calls


def test_text_in_parts_is_joined() -> None:
    parts = [
        {"type": "text", "text": "Hel"},
        {"type": "image"},
        None,
        {"type": "text", "text": "lo"},
    ]
    assert read({"content": parts}).text == "Hello"


def test_a_refusal_is_a_refusal_whatever_the_finish_reason_says() -> None:
    reply = read({"content": None, "refusal": "I won't."})
    assert (reply.text, reply.stop, reply.finish) == ("I won't.", StopReason.REFUSAL, "refusal")
    assert read({"content": "Hi", "refusal": ""}).stop is StopReason.END_TURN
    assert read({"content": "Hi", "refusal": False}).stop is StopReason.END_TURN


@pytest.mark.parametrize(
    ("wire", "text"),
    [
        ('{"command": "ls"}', '{"command": "ls"}'),
        ("no json", "no json"),
        ({"command": "ls", "n": "é"}, '{"command": "ls", "n": "é"}'),
        (None, ""),
        ("", ""),
        ([1], "[1]"),
        ('{"a":"\ud83d"}', '{"a":"\ufffd"}'),
    ],
)
def test_arguments_are_kept_as_text_for_the_dispatcher_to_judge(wire: Any, text: str) -> None:
    assert asks(function(arguments=wire)).calls[0].arguments == text


def test_every_call_has_an_id_of_its_own() -> None:
    ids = ["a", "a", None, "", 7, "minted_1", "old"]

    reply = asks(*[function(call_id) for call_id in ids], taken=["old"])

    given = [call.id for call in reply.calls]
    assert given[0] == "a"
    assert len(set(given)) == len(ids)
    assert "old" not in given
    assert "" not in given


@pytest.mark.parametrize(
    ("entry", "name", "arguments"),
    [
        (
            {"id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
            "sql",
            "select 1",
        ),
        ({"id": "a", "type": "function"}, "", ""),
        ({"id": "a", "function": None}, "", ""),
        (function(name=None), "", "{}"),
        (function(name=3), "", "{}"),
    ],
)
def test_a_call_of_another_kind_is_still_a_call_that_can_be_answered(
    entry: Any, name: str, arguments: str
) -> None:
    (call,) = asks(entry).calls
    assert (call.name, call.arguments) == (name, arguments)


def test_the_older_form_of_a_call_is_understood() -> None:
    old = {"name": "shell", "arguments": "{}"}
    reply = read({"content": None, "function_call": old}, finish="function_call")
    assert reply.calls == (ToolCall("minted_1", "shell", "{}"),)
    both = read({"content": None, "tool_calls": [function()], "function_call": old})
    assert both.calls == (ToolCall("call_1", "shell", "{}"),)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}, Usage(11, 7)),
        ({"prompt_tokens": 11}, None),
        ({"prompt_tokens": "11", "completion_tokens": 7}, None),
        ({"prompt_tokens": True, "completion_tokens": 7}, None),
        (None, None),
        ([], None),
    ],
)
def test_tokens_are_counted_if_both_numbers_came(usage: Any, expected: Usage | None) -> None:
    assert read({"content": "Hi"}, usage=usage).usage == expected


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        7,
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": "x"},
        {"choices": [None]},
        {"choices": ["x"]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": []}]},
        {"choices": [{"message": {"content": 7}}]},
        {"choices": [{"message": {"content": {"text": "x"}}}]},
        {"choices": [{"message": {"tool_calls": {"id": "a"}}}]},
        {"choices": [{"message": {"tool_calls": "x"}}]},
        {"choices": [{"message": {"tool_calls": [None]}}]},
        {"choices": [{"message": {"tool_calls": [{"function": "x"}]}}]},
    ],
)
def test_a_body_of_another_shape_is_refused_with_a_reason(body: Any) -> None:
    with pytest.raises(UnreadableReply, match=r"`|object"):
        from_wire(body, (), minted())


def test_arguments_that_came_encoded_twice_go_back_encoded_once() -> None:
    assert legal_arguments(json.dumps('{"path": "ü"}')) == '{"path": "ü"}'
    assert legal_arguments(json.dumps('{"path": "\ud83d"}')) == '{"path": "\ufffd"}'
    assert legal_arguments('"text"') == "{}"


def test_arguments_too_deep_to_be_read_do_not_go_back() -> None:
    assert legal_arguments('{"a": ' + "[" * 200 + "]" * 200 + "}") == "{}"


def test_a_finish_reason_is_short_and_can_be_printed() -> None:
    assert read({"content": "hi"}, finish="\x1b[2J" + "x" * 99).finish == "[2J" + "x" * 60


def test_half_a_surrogate_pair_in_a_description_can_be_sent() -> None:
    spec = ToolSpec("shell", "Run \ud83d.", {"type": "object"})
    (tool,) = to_body(Request((UserMessage("hi"),), (spec,)), "m")["tools"]
    assert tool["function"]["description"] == "Run \ufffd."
