"""OpenAI Responses: what is sent, what is read. No SDK and no network here."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.encoder import Encoder
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.responses import RESPONSES
from chapters.ch04.tests.odd_json import odd_answers
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

OPENAI = KNOWN["openai-responses"]
PNG = Image("image/png", "AAAA")
SHOWN = {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AAAA"}
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "limit": {"type": "number"}},
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"x": {"type": "string"}},
}
READ = ToolSpec("read", "Read a file", SCHEMA)
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
THOUGHT = Thinking("", json.dumps(REASONING))
SIGNED = json.dumps({"id": "msg_1", "phase": "final_answer"})


def target_of(provider: Provider = OPENAI) -> Target:
    return Target(provider, "a-model")


def body_of(
    *messages: Message,
    provider: Provider = OPENAI,
    tools: tuple[ToolSpec, ...] = (),
    system: str = "",
) -> dict[str, Any]:
    """The body of a request, made in both ways that there are."""
    request = Request(messages or (UserMessage("q"),), tools, system)
    body = to_body(RESPONSES, request, target_of(provider))
    assert json.loads(Encoder(RESPONSES, target_of(provider)).body(request)) == body
    return body


def items_of(*messages: Message, provider: Provider = OPENAI) -> list[dict[str, Any]]:
    """The input items after the first question."""
    items: list[dict[str, Any]] = body_of(UserMessage("q"), *messages, provider=provider)["input"]
    return items[1:]


def call(id: str = "c1", arguments: str = "{}", signature: str = "") -> ToolCall:  # noqa: A002
    return ToolCall(id, "t", arguments, signature)


def reply(*parts: Text | Thinking | ToolCall, origin: Origin | None = None) -> AssistantMessage:
    calls = any(isinstance(part, ToolCall) for part in parts)
    stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
    return AssistantMessage(parts, stop, origin=origin or target_of().origin)


def wire_call(call_id: str = "c1", arguments: str = "{}", **item: Any) -> dict[str, Any]:
    called = {"call_id": call_id, "name": "t", "arguments": arguments}
    return {"type": "function_call", **item, **called}


def message(*texts: str, **item: Any) -> dict[str, Any]:
    """A message of the model as the API sends it, and takes it back."""
    content = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    said = {"type": "message", "role": "assistant", "status": "completed", "content": content}
    return {**said, **item}


# Tools and the other fields


@pytest.mark.parametrize(
    ("strict", "said"), [(Strict.OFF, False), (Strict.OMIT, False), (Strict.ON, True)]
)
def test_a_tool_is_flat_and_always_says_whether_it_is_strict(strict: Strict, said: bool) -> None:
    (tool,) = body_of(provider=replace(OPENAI, strict=strict), tools=(READ,))["tools"]
    parameters = tool.pop("parameters")
    assert tool == {
        "type": "function",
        "name": "read",
        "description": "Read a file",
        "strict": said,
    }
    assert parameters["required"] == (["path", "limit"] if said else ["path"])
    assert (parameters == SCHEMA) is not said


def test_nothing_is_kept_at_the_provider_and_thinking_comes_whole() -> None:
    assert body_of() == {
        "model": "a-model",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "input": [{"role": "user", "content": [{"type": "input_text", "text": "q"}]}],
    }


def test_the_system_prompt_and_the_limit_are_fields() -> None:
    body = body_of(provider=replace(OPENAI, max_tokens=99), system="S\ud83d")
    assert (body["instructions"], body["max_output_tokens"]) == ("S\ufffd", 99)


def test_a_field_of_the_record_overrides_what_is_asked_for() -> None:
    provider = replace(OPENAI, extra_body={"include": [], "reasoning": {"effort": "low"}})
    body = body_of(provider=provider)
    assert (body["include"], body["reasoning"]) == ([], {"effort": "low"})


# Items


@pytest.mark.parametrize(
    ("said", "content"),
    [
        (UserMessage("a 😀 b"), [{"type": "input_text", "text": "a 😀 b"}]),
        (UserMessage(""), [{"type": "input_text", "text": ""}]),
        (UserMessage((Text("look"), PNG)), [{"type": "input_text", "text": "look"}, SHOWN]),
    ],
    ids=["text", "empty", "text and picture"],
)
def test_what_a_person_said_is_a_list_of_parts(said: UserMessage, content: Any) -> None:
    assert body_of(said)["input"] == [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    ("parts", "items"),
    [
        (
            (Text("a"), Text("b")),
            [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
        ),
        ((Text("a", SIGNED),), [message("a", id="msg_1", phase="final_answer")]),
        ((Text("a", '{"id": "msg_1"}'),), [message("a", id="msg_1")]),
        ((Text("a", "msg_1"),), [{"role": "assistant", "content": "a"}]),
        ((Text("a", '{"id": 1}'),), [{"role": "assistant", "content": "a"}]),
        (
            (Text("a", '{"id": "msg_1", "content": "b", "role": "user"}'),),
            [message("a", id="msg_1")],
        ),
        (
            (Text("a", SIGNED), Text("b", SIGNED), Text("c", '{"id": "msg_2"}')),
            [message("a", "b", id="msg_1", phase="final_answer"), message("c", id="msg_2")],
        ),
    ],
    ids=[
        "no id is invented",
        "a message as it was",
        "without a phase",
        "a signature that is none",
        "an id that is none",
        "nothing but id and phase is taken from a signature",
        "pieces of one message",
    ],
)
def test_text_goes_back_as_the_item_that_it_was(parts: Any, items: Any) -> None:
    assert items_of(reply(*parts)) == items


@pytest.mark.parametrize(
    ("parts", "items"),
    [
        ((THOUGHT, Text("a", '{"id": "m"}')), [REASONING, message("a", id="m")]),
        (
            (Text("a", '{"id": "m"}'), THOUGHT, call(signature="fc_1")),
            [message("a", id="m"), REASONING, wire_call(id="fc_1")],
        ),
        ((Text("a", '{"id": "m"}'), THOUGHT), [message("a", id="m")]),
        ((Thinking("hm"), Text("a")), [{"role": "assistant", "content": "a"}]),
        ((Thinking("hm", "not json"), Text("a")), [{"role": "assistant", "content": "a"}]),
        ((Thinking("hm", '{"n": NaN}'), Text("a")), [{"role": "assistant", "content": "a"}]),
        (
            (Thinking("hm", '{"type": "message", "role": "system"}'), Text("a")),
            [{"role": "assistant", "content": "a"}],
        ),
    ],
    ids=[
        "before text",
        "before a call",
        "at the end, where it led to nothing",
        "unsigned",
        "signed with something else",
        "signed with what cannot be sent",
        "signed with another item",
    ],
)
def test_thinking_goes_back_as_it_came_right_before_what_it_led_to(parts: Any, items: Any) -> None:
    sent = items_of(reply(*parts))
    assert [item for item in sent if item.get("type") != "function_call_output"] == items


def test_where_thinking_stays_here_no_item_keeps_an_id_that_wants_it() -> None:
    provider = replace(OPENAI, echo_reasoning=False)
    said = reply(THOUGHT, Text("a", SIGNED), call(signature="fc_1"))
    body = body_of(UserMessage("q"), said, ToolResult("c1", "t", "r"), provider=provider)
    assert body["input"][1:3] == [{"role": "assistant", "content": "a"}, wire_call()]
    assert refusals(Api.RESPONSES, body, provider) == []


def test_a_result_answers_the_call_and_not_the_item_of_the_call() -> None:
    items = items_of(
        reply(THOUGHT, call("call_1", '{"a": 1}', "fc_1")), ToolResult("call_1", "t", "r")
    )
    assert items == [
        REASONING,
        wire_call("call_1", '{"a": 1}', id="fc_1"),
        {"type": "function_call_output", "call_id": "call_1", "output": "r"},
    ]


@pytest.mark.parametrize(
    ("result", "output"),
    [
        (ToolResult("c1", "t", "r"), "r"),
        (ToolResult("c1", "t", ""), "(no tool output)"),
        (
            ToolResult("c1", "t", "cap", images=(PNG,)),
            [{"type": "input_text", "text": "cap"}, SHOWN],
        ),
        (ToolResult("c1", "t", "", images=(PNG,)), [SHOWN]),
        (ToolResult("c1", "t", "Error [x]: no", "x"), "Error [x]: no"),
    ],
    ids=["text", "empty", "text and picture", "picture", "failure"],
)
def test_an_output_is_text_or_a_list_with_pictures(result: ToolResult, output: Any) -> None:
    assert items_of(reply(call()), result)[1]["output"] == output


def test_pictures_follow_all_results_where_none_may_hold_them() -> None:
    provider = replace(OPENAI, result_images=False)
    results = ToolResult("c1", "t", "", images=(PNG,)), ToolResult("c2", "t", "r2")
    items = items_of(reply(call("c1"), call("c2")), *results, provider=provider)
    assert [item.get("output") for item in items[2:4]] == ["(see attached image)", "r2"]
    text = {"type": "input_text", "text": "Attached image(s) from tool result:"}
    assert items[4:] == [{"role": "user", "content": [text, SHOWN]}]


# Replies


def read(*output: Any, provider: Provider = OPENAI, **fields: Any) -> AssistantMessage:
    body = {"object": "response", "status": "completed", "output": list(output), "error": None}
    return RESPONSES.reply({**body, **fields}, target_of(provider))


SUMMED = {**REASONING, "summary": [{"type": "summary_text", "text": text} for text in "ab"]}
OPEN = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "h"}]}


@pytest.mark.parametrize(
    ("item", "parts"),
    [
        (
            message("a", "b", id="msg_1"),
            [Text("a", '{"id": "msg_1"}'), Text("b", '{"id": "msg_1"}')],
        ),
        (message("a", id="msg_1", phase="final_answer"), [Text("a", SIGNED)]),
        (message("a"), [Text("a")]),
        (message("a", phase="final_answer"), [Text("a")]),
        (message("", id="msg_1"), []),
        (message("\ud83d"), [Text("\ufffd")]),
        (message() | {"content": None}, []),
        (REASONING, [THOUGHT]),
        (SUMMED, [Thinking("a\n\nb", json.dumps(SUMMED))]),
        (OPEN, [Thinking("h", json.dumps(OPEN))]),
        (wire_call("c1", '{"a": 1}', id="fc_1"), [call("c1", '{"a": 1}', "fc_1")]),
        (wire_call("c1") | {"arguments": {"a": "ü"}}, [call("c1", '{"a": "ü"}')]),
        (wire_call("c1") | {"arguments": None}, [call("c1", "")]),
        (wire_call("c1") | {"call_id": None, "name": 7}, [ToolCall("", "", "{}")]),
        (
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "t", "input": "*"},
            [call("c1", "*")],
        ),
        ({"type": "web_search_call", "id": "ws_1", "content": "of its own kind"}, []),
        ({}, []),
    ],
    ids=str,
)
def test_an_item_becomes_parts(item: Any, parts: Any) -> None:
    assert list(read(item).content) == parts


@pytest.mark.parametrize(
    ("status", "reason", "calls", "stop", "finish"),
    [
        ("completed", None, False, StopReason.END_TURN, "completed"),
        ("completed", None, True, StopReason.TOOL_USE, "completed"),
        ("incomplete", "max_output_tokens", True, StopReason.MAX_TOKENS, "max_output_tokens"),
        ("incomplete", "max_messages", True, StopReason.MAX_TOKENS, "max_messages"),
        ("incomplete", "content_filter", False, StopReason.CONTENT_FILTER, "content_filter"),
        ("incomplete", "steered", True, StopReason.UNKNOWN, "steered"),
        ("incomplete", None, True, StopReason.UNKNOWN, "incomplete"),
        ("incomplete", "completed", True, StopReason.UNKNOWN, "completed"),
        ("incomplete", 7, True, StopReason.UNKNOWN, "incomplete"),
        ("cancelled", None, True, StopReason.UNKNOWN, "cancelled"),
        ("in_progress", None, True, StopReason.UNKNOWN, "in_progress"),
        ("a_new_one", None, False, StopReason.UNKNOWN, "a_new_one"),
        (None, None, True, StopReason.MISSING, ""),
        (7, None, False, StopReason.MISSING, ""),
    ],
)
def test_status_reason_and_calls_say_how_it_ended(
    status: Any, reason: Any, calls: bool, stop: StopReason, finish: str
) -> None:
    found = read(*[wire_call()] * calls, status=status, incomplete_details={"reason": reason})
    assert (found.stop, found.finish) == (stop, finish)


@pytest.mark.parametrize("details", [None, [], "max_output_tokens", {"reason": None}])
def test_a_reply_cut_off_without_a_readable_reason_is_never_whole(details: Any) -> None:
    found = read(wire_call(), status="incomplete", incomplete_details=details)
    assert (found.stop, found.finish) == (StopReason.UNKNOWN, "incomplete")


def test_a_missing_status_is_accepted_only_where_the_provider_is_known_for_it() -> None:
    lenient = replace(OPENAI, finish_required=False)
    assert read(wire_call(), status=None, provider=lenient).stop is StopReason.TOOL_USE


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_a_refusal_is_one_whatever_the_status_says_and_its_words_are_kept(status: str) -> None:
    refusal = {"type": "refusal", "refusal": "I can't."}
    said = message("Well. ", id="msg_1")
    said["content"].append(refusal)
    found = read(said, wire_call(), status=status)
    assert (found.stop, found.finish, found.text) == (
        StopReason.REFUSAL,
        "refusal",
        "Well. I can't.",
    )


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (
            {
                "input_tokens": 110,
                "input_tokens_details": {"cached_tokens": 100},
                "output_tokens": 70,
                "output_tokens_details": {"reasoning_tokens": 60},
            },
            Usage(110, 70, cached_tokens=100, reasoning_tokens=60),
        ),
        ({"input_tokens": 11, "output_tokens": 7, "input_tokens_details": None}, Usage(11, 7)),
        (None, None),
        ("11", None),
    ],
    ids=["with details", "plain", "null", "text"],
)
def test_the_cached_tokens_are_not_counted_twice(usage: Any, found: Any) -> None:
    assert read(usage=usage).usage == found


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, "`output` is missing"),
        ("<html>", "`output` is missing"),
        ([], "`output` is missing"),
        ({"status": "ok"}, "`output` is missing"),
        ({"output": "hi"}, "`output` is not a list"),
        ({"output": ["hi"]}, "`output` is not a list"),
        ({"output": [message() | {"content": "hi"}]}, "`content` is not a list"),
        ({"output": [REASONING | {"summary": "hi"}]}, "`summary` is not a list"),
        ({"status": "failed", "output": [], "error": None}, "does not say why"),
    ],
    ids=str,
)
def test_what_is_no_response_is_unreadable_and_says_why(body: Any, reason: str) -> None:
    with pytest.raises(UnreadableReply, match=reason):
        RESPONSES.reply(body, target_of())


WORDS = (
    "type message content text output_text refusal reasoning summary function_call call_id name "
    "arguments id phase custom_tool_call input output status completed incomplete failed reason "
    "incomplete_details max_output_tokens usage input_tokens input_tokens_details cached_tokens"
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(body=odd_answers("output", WORDS))
def test_no_answer_breaks_the_reader_and_what_was_read_can_be_sent_back(body: Any) -> None:
    with suppress(UnreadableReply):
        found = RESPONSES.reply(body, target_of())
        stopped = replace(found, stop=StopReason.MAX_TOKENS, origin=target_of().origin)
        assert body_of(UserMessage("q"), stopped)


# There and back


def test_a_reply_goes_back_item_by_item_as_it_came() -> None:
    came = [
        {**REASONING, "summary": [{"type": "summary_text", "text": "Grüße"}], "status": None},
        message("I look.", "I do.", id="msg_1", phase="commentary"),
        {**REASONING, "id": "rs_2"},
        wire_call("call_1", '{"b": [1, {"ü": null}]}', id="fc_1"),
        wire_call("call_2", "{ }", id="fc_2"),
        {**REASONING, "id": "rs_3"},
        message("Wait.", id="msg_2"),
    ]
    found = replace(read(*came), origin=target_of().origin)
    results = ToolResult("call_1", "t", "r1"), ToolResult("call_2", "t", "r2")
    body = body_of(UserMessage("q"), found, *results)
    assert body["input"][1:8] == [*came[:4], came[4] | {"arguments": "{}"}, *came[5:]]
    assert [item["call_id"] for item in body["input"][8:]] == ["call_1", "call_2"]
    assert refusals(Api.RESPONSES, body, OPENAI) == []


def test_a_history_begun_elsewhere_becomes_one_that_is_taken() -> None:
    elsewhere = Origin("anthropic", "anthropic", "another-model")
    said = reply(
        Thinking("secret thoughts", "c2ln"),
        Text("I read."),
        ToolCall("functions.read:0", "files.read", '{"path": "a"}', "signature"),
        ToolCall("call_1|fc_2", "files.read", '{"path": "b"', "signature"),
        origin=elsewhere,
    )
    body = body_of(
        UserMessage((Text("What is this?"), PNG)),
        said,
        ToolResult("functions.read:0", "files.read", "", images=(PNG,)),
        ToolResult("call_1|fc_2", "files.read", "Error [x]: no", "x"),
        UserMessage("go on"),
        tools=(ToolSpec("files.read", "Read", SCHEMA),),
        system="S",
    )
    assert refusals(Api.RESPONSES, body, OPENAI) == []
    items = body["input"][1:]
    assert [item.get("type", item.get("role")) for item in items] == [
        "assistant",
        *["function_call"] * 2,
        *["function_call_output"] * 2,
        "user",
    ]
    ids = ["functions_read_0", "call_1_fc_2"]
    assert [item["call_id"] for item in items[1:5]] == ids * 2
    assert {item["name"] for item in items[1:3]} == {body["tools"][0]["name"]}
    assert not any("id" in item for item in items)
    assert "secret" not in json.dumps(body)


def test_another_model_of_the_same_provider_gets_no_ids_whose_thinking_it_would_miss() -> None:
    other = Origin("openai-responses", "openai-responses", "another-model")
    said = reply(THOUGHT, Text("a", SIGNED), call(signature="fc_1"), origin=other)
    assert items_of(said, ToolResult("c1", "t", "r"))[:2] == [
        {"role": "assistant", "content": "a"},
        wire_call(),
    ]
