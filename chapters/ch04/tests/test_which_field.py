"""The two tables about fields: one agrees with the adapters, the other finds what is meant."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any, cast

import pytest

from chapters.ch04.adapters import Access, endpoint_of, wire_of
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import OWNED, Api, Cache, Provider, Strict, Target
from chapters.ch04.which_field import GENERAL, SIGNS, WITHOUT_EFFECT, advice_on
from chapters.ch04.wire import to_body
from shared.errors import ConfigError
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

CHOSEN = {
    Api.CHAT: KNOWN["openai"],
    Api.RESPONSES: KNOWN["openai-responses"],
    Api.ANTHROPIC: KNOWN["anthropic"],
    Api.GEMINI: KNOWN["gemini"],
}
FIXED = {"name", "api", "about", "base_url", "ids"}
# The client sends them, and no adapter sees them: test_known_servers has a request with one.
NOT_IN_THE_BODY = {"headers"}
OTHER: dict[str, Any] = {
    "token_limit_key": "another_key",
    "max_tokens": 77,
    "system_role": "developer",
    "empty_content": None,
    "strict": Strict.ON,
    "foreign_signature": "b3RoZXI=",
    "cache": Cache.LONG,
    "name_limit": 12,
    "max_tools": 1,
    "extra_body": {"x": 1},
}
UNFINISHED: dict[Api, Any] = {
    Api.CHAT: {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]},
    Api.RESPONSES: {
        "object": "response",
        "output": [
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "Hi."}],
            }
        ],
    },
    Api.ANTHROPIC: {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "Hi."}],
    },
    Api.GEMINI: {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}}]},
}
SIGNATURE = {
    Api.CHAT: "reasoning_content",
    Api.RESPONSES: json.dumps({"type": "reasoning", "id": "rs_1", "summary": []}),
    Api.ANTHROPIC: "c2lnbmVk",
    Api.GEMINI: "c2lnbmVk",
}
PIXEL = Image("image/png", "aGVsbG8=")
TOOLS = tuple(
    ToolSpec(name, "d", {"type": "object", "properties": {"a": {"type": "string"}}})
    for name in ("look_up_a_name", "look_up_a_place")
)


def history(provider: Provider) -> list[Message]:
    """A history in which every field finds something to change."""
    name, origin = TOOLS[0].name, Target(provider, "a-model").origin
    signed = Thinking("Hm.", SIGNATURE[provider.api])

    def call(number: int) -> ToolCall:
        return ToolCall(f"call_{number}", name, '{"a": "b"}')

    return [
        UserMessage((Text("Look:"), PIXEL)),
        AssistantMessage((signed, call(1)), origin=origin),
        ToolResult("call_1", name, "a picture", images=(PIXEL,)),
        AssistantMessage((Thinking("Unsigned."), Text("So."), call(2)), origin=origin),
        ToolResult("call_2", name, "nothing"),
        AssistantMessage((call(3),), origin=Origin("elsewhere", "somebody", "another")),
        ToolResult("call_3", name, "nothing"),
        UserMessage(" "),
        UserMessage("Go on."),
    ]


def seen(provider: Provider, asked: Provider) -> object:
    """All that a record can change: the body of a request, and what is made of a reply."""
    target, wire = Target(provider, "a-model"), wire_of(provider.api)
    try:
        body = to_body(wire, Request(history(asked), TOOLS, "Be kind."), target)
    except ConfigError as error:
        return str(error)
    return body, wire.reply(UNFINISHED[provider.api], target).stop


STREAMED = "stream_usage"  # of chapter 5: no request of this chapter is streamed


@pytest.mark.parametrize("api", Api)
def test_the_table_of_fields_without_effect_agrees_with_the_adapters(api: Api) -> None:
    record = replace(CHOSEN[api], max_tokens=100, strict=Strict.OMIT)
    before, same = seen(record, record), set()
    for field in fields(Provider):
        if field.name in FIXED | NOT_IN_THE_BODY:
            continue
        value = getattr(record, field.name)
        other: Any = OTHER.get(field.name, not value)
        assert other != value
        changed: dict[str, Any] = {field.name: other}
        if seen(replace(record, **changed), record) == before:
            same.add(field.name)
    assert same - {STREAMED} == WITHOUT_EFFECT[api] - {STREAMED}


def test_the_tables_name_fields_that_there_are() -> None:
    names = {field.name for field in fields(Provider)} - FIXED
    assert set().union(*WITHOUT_EFFECT.values()) < names
    assert {sign.field for sign in SIGNS} < names
    assert OWNED.keys() < names


@pytest.mark.parametrize(
    ("api", "said", "expected"),
    [
        (
            "openai",
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            "another WORKBOOK_TOKEN_LIMIT_KEY",
        ),
        ("deepseek", "max_tokens is too large: 9000. At most 8192", "another WORKBOOK_MAX_TOKENS"),
        ("gemini", "Invalid value at maxOutputTokens", "another WORKBOOK_MAX_TOKENS"),
        ("openai", "messages[1].content must be null", "WORKBOOK_EMPTY_CONTENT=null"),
        ("openai", "`content` is required", "WORKBOOK_EMPTY_CONTENT=null"),
        (
            "openai",
            "Extra inputs are not permitted: tools.0.function.strict",
            "WORKBOOK_STRICT=off",
        ),
        ("openai-responses", "Missing 'strict'", "WORKBOOK_STRICT=omit"),
        ("openai", "'additionalProperties' is required to be false", "WORKBOOK_STRICT=off"),
        ("openai", "unknown field `reasoning_content`", "WORKBOOK_ECHO_REASONING=false"),
        ("openai", "this model cannot read images", "WORKBOOK_IMAGES=false"),
        ("openai", "role 'system' is not one of developer", "another WORKBOOK_SYSTEM_ROLE"),
        ("openai", "the tool message is missing a name", "WORKBOOK_RESULT_NAME=true"),
        ("openai", "Unexpected role user after role tool", "WORKBOOK_REPLY_AFTER_RESULTS=true"),
        ("openai", "text must be non-empty", "WORKBOOK_BLANK_TEXT=false"),
        ("dashscope", "enable_thinking must be false", "another WORKBOOK_EXTRA_BODY"),
        ("anthropic", "cache_control: unknown", "WORKBOOK_CACHE=none"),
        ("gemini", "missing a thought_signature", "another WORKBOOK_FOREIGN_SIGNATURE"),
    ],
)
def test_a_refusal_that_speaks_of_a_field_names_it(api: str, said: str, expected: str) -> None:
    advice = advice_on(said, KNOWN[api])
    assert advice == f"Perhaps this server wants {expected}: see the fields in .env.example."


@pytest.mark.parametrize(
    ("record", "said", "expected"),
    [
        # What is so already cannot help.
        (replace(KNOWN["openai"], empty_content=None), "content is null", "=empty"),
        (replace(KNOWN["openai"], strict=Strict.ON), "unknown: strict", "STRICT=off"),
        (replace(KNOWN["openai"], strict=Strict.OFF), "unknown: strict", "STRICT=omit"),
        (replace(KNOWN["openai"], images=False), "no images", ""),
        # What an API does not look at cannot, either.
        (KNOWN["anthropic"], "messages: content is required", GENERAL),
        (KNOWN["openai"], "Invalid 'tool_calls[0]'", GENERAL),
        (KNOWN["openai"], "Unknown parameter: 'colour'", GENERAL),
        # Nothing of a request is named.
        (KNOWN["openai"], "The model `x` does not exist", ""),
        (KNOWN["openai"], "", ""),
    ],
)
def test_what_cannot_help_is_not_advised(record: Provider, said: str, expected: str) -> None:
    advice = advice_on(said, record)
    assert advice.endswith(expected) if expected == GENERAL or not expected else expected in advice
    assert bool(advice) == bool(expected)


def test_an_api_that_is_in_no_table_gets_no_advice() -> None:
    record = replace(KNOWN["openai"], api=cast(Api, "somebody's own"))
    assert advice_on("content is null", record) == ""


def test_the_advice_uses_the_names_that_the_settings_have() -> None:
    target = Target(KNOWN["anthropic"], "a-model")
    access = Access("https://h", "a-key", "a-model", "WORKBOOK_ANTHROPIC_")
    endpoint = endpoint_of(wire_of(Api.ANTHROPIC), target, access)
    assert "WORKBOOK_ANTHROPIC_CACHE=none" in endpoint.advice("cache_control?")


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("extra_body", {"model": "x", "Messages": [], "temperature": 0}, "messages, model"),
        ("extra_body", {"stream": True}, "stream"),
        ("extra_body", {"systemInstruction": {}}, "systemInstruction"),
        ("headers", {"Authorization": "Bearer x"}, "authorization"),
        ("headers", {"X-Goog-Api-Key": "x", "HOST": "h"}, "host, x-goog-api-key"),
        ("token_limit_key", "messages", "messages"),
        ("token_limit_key", "store", "store"),
    ],
)
def test_what_an_adapter_or_its_client_writes_cannot_be_overwritten(
    field: str, value: Any, named: str
) -> None:
    with pytest.raises(ValueError, match=f"^{field} may not hold {named}\\. "):
        replace(KNOWN["openai"], **{field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("extra_body", {"temperature": 0, "store": True, "generationConfig": {"topK": 1}}),
        ("headers", {"x-api-key": "for a gateway", "anthropic-beta": "x"}),
        ("token_limit_key", "max_completion_tokens"),
    ],
)
def test_what_nobody_else_writes_can_be_said(field: str, value: Any) -> None:
    assert getattr(replace(KNOWN["openai"], **{field: value}), field) == value


@pytest.mark.parametrize("api", Api)
def test_all_that_an_adapter_writes_for_the_loop_is_its_own(api: Api) -> None:
    record = replace(CHOSEN[api], max_tokens=None if api is not Api.ANTHROPIC else 9)
    request = Request((UserMessage("hi"),), TOOLS, "Be kind.")
    written = to_body(wire_of(api), request, Target(record, "a-model")).keys()
    free = {"store", "include", record.token_limit_key}
    assert written - free <= OWNED["extra_body"]
    assert (written - {record.token_limit_key}) <= OWNED["token_limit_key"]
