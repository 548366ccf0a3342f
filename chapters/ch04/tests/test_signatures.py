"""Item ids of Responses: each goes back once, and what is none does not go back as one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.repair import repair
from chapters.ch04.responses import RESPONSES
from chapters.ch04.wire import encode, to_body
from shared.messages import (
    AssistantMessage,
    Message,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

PROVIDER = KNOWN["openai-responses"]
TARGET = Target(PROVIDER, "a-model")
GO = UserMessage("go")


def thought(item_id: str = "rs_1", **more: Any) -> Thinking:
    return Thinking("", json.dumps({"type": "reasoning", "id": item_id, "summary": [], **more}))


def said(text: str = "a", item_id: str = "msg_1") -> Text:
    return Text(text, json.dumps({"id": item_id}))


def call(call_id: str = "c1", item_id: str = "fc_1") -> ToolCall:
    return ToolCall(call_id, "t", "{}", item_id)


def reply(*parts: Text | Thinking | ToolCall) -> AssistantMessage:
    return AssistantMessage(parts, StopReason.TOOL_USE, origin=TARGET.origin)


def sent(*replies: AssistantMessage) -> list[str]:
    """Type and item id of what goes back, without results; all of it is taken."""
    history: list[Message] = [GO]
    for each in replies:
        history += [each, *[ToolResult(call.id, "t", "ok") for call in each.calls], GO]
    body = json.loads(encode(to_body(RESPONSES, Request(history), TARGET)))
    assert refusals(Api.RESPONSES, body, PROVIDER) == []
    once = repair(history, TARGET)
    assert repair(once, TARGET) == once
    return [
        f"{item.get('type', 'said')} {item.get('id', '-')}"
        for item in body["input"]
        if item.get("role") != "user" and item.get("type") != "function_call_output"
    ]


FIRST = ["reasoning rs_1", "message msg_1", "function_call fc_1"]
LONG = "x" * 65


@pytest.mark.parametrize(
    ("replies", "items"),
    [
        ([reply(thought(), said(), call())], FIRST),
        (
            [reply(thought(), said(), call())] * 2,
            [*FIRST, "said -", "function_call -"],
        ),
        (
            [reply(thought(), call()), reply(thought("rs_2"), call("c2", "fc_1"))],
            ["reasoning rs_1", "function_call fc_1", "reasoning rs_2", "function_call -"],
        ),
        (
            [reply(thought(), call()), reply(thought(encrypted_content="x"), call("c2", "fc_2"))],
            ["reasoning rs_1", "function_call fc_1", "function_call -"],
        ),
        (
            [reply(thought(), call(), call("c2"))],
            ["reasoning rs_1", "function_call fc_1", "function_call -"],
        ),
        (
            [reply(thought(), said("a"), said("b"), call(), said("c"))],
            [*FIRST, "said -"],
        ),
        ([reply(thought("rs:1"), call())], ["function_call -"]),
        ([reply(thought(LONG), said(), call())], ["said -", "function_call -"]),
        (
            [reply(thought(), said(item_id=LONG), call(item_id="fc 1"))],
            ["reasoning rs_1", "said -", "function_call -"],
        ),
        (
            [reply(thought(), call()), reply(thought(), thought("rs_2"), call("c2", "fc_2"))],
            ["reasoning rs_1", "function_call fc_1", "reasoning rs_2", "function_call fc_2"],
        ),
        (
            [reply(thought("rs:1"), Thinking("hm"), call())],
            ["function_call -"],
        ),
    ],
    ids=[
        "each once: as it came",
        "a reply that stands there twice",
        "another call with the id of one before",
        "other thinking with the id of one before: what it led to has none either",
        "two calls of one reply with one id",
        "pieces of one message are one item, and a later piece is not",
        "thinking whose id has a character that none has",
        "thinking whose id is too long",
        "message and call whose ids are none",
        "after thinking that is new, ids go back again",
        "thinking without a signature does not count as new",
    ],
)
def test_an_item_goes_back_once(replies: list[AssistantMessage], items: list[str]) -> None:
    assert sent(*replies) == items


def test_thinking_from_a_server_without_item_ids_goes_back_once() -> None:
    nameless = Thinking("", json.dumps({"type": "reasoning", "summary": []}))
    items = sent(reply(nameless, Text("a")), reply(nameless, Text("a")))
    assert items == ["reasoning -", "said -", "said -"]


@pytest.mark.parametrize("name", ["anthropic", "gemini", "openai"])
def test_elsewhere_a_signature_may_come_again(name: str) -> None:
    """It is no name there: a call of Gemini without one would be refused."""
    target = Target(KNOWN[name], "a-model")
    parts = Thinking("hm", "c2ln"), ToolCall("c1", "t", "{}", "c2ln")
    twice = AssistantMessage(parts, StopReason.TOOL_USE, origin=target.origin)
    repaired = [each for each in repair([GO, twice, twice], target) if each != GO]
    replies = [each for each in repaired if isinstance(each, AssistantMessage)]
    assert [[part.signature for part in each.content] for each in replies] == [["c2ln"] * 2] * 2


@pytest.mark.parametrize("name", ["anthropic", "openai"])
def test_a_blank_text_is_not_kept_for_a_signature_that_means_nothing(name: str) -> None:
    target = Target(KNOWN[name], "a-model")
    blank = AssistantMessage((Text(" ", "c2ln"),), origin=target.origin)
    assert repair([GO, blank], target) == [GO]
