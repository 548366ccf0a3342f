"""Definitions of tools: what cannot be encoded is cleaned or named, before anything is sent."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from chapters.ch04.adapters import wire_of
from chapters.ch04.encoder import Encoder
from chapters.ch04.known_servers import PROVIDERS
from chapters.ch04.provider import Provider, Target
from chapters.ch04.sendable_tool import MAX_VALUES, sendable_tool
from shared.errors import ConfigError
from shared.messages import Request, ToolSpec, UserMessage

HI = UserMessage("hi")
each_record = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda record: record.name)


def body_with(provider: Provider, *tools: ToolSpec) -> Any:
    encoder = Encoder(wire_of(provider.api), Target(provider, "a-model"))
    return json.loads(encoder.body(Request((HI,), tools)))


def an_object(inner: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"a": inner}}


@each_record
def test_half_a_surrogate_pair_anywhere_in_a_tool_can_be_sent(provider: Provider) -> None:
    schema = {"type": "object", "properties": {"b\ud83d": {"enum": ["c\ud83d"], "type": "string"}}}
    body = json.dumps(body_with(provider, ToolSpec("t\ud83d", "d\ud83d", schema)))
    assert all(f"{letter}\\ufffd" in body for letter in "bcd")


def deep(levels: int) -> Any:
    inner: Any = {"type": "string"}
    for _ in range(levels):
        inner = an_object(inner)
    return inner


def doubled(levels: int) -> Any:
    inner: Any = {"type": "string"}
    for _ in range(levels):
        inner = {"type": "object", "x": [inner, inner]}
    return inner


ROUND: dict[str, Any] = {"type": "object"}
ROUND["x"] = ROUND


@each_record
@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (an_object({"maximum": float("inf")}), "infinity or NaN"),
        (an_object({"default": float("nan")}), "infinity or NaN"),
        (an_object({"enum": {1, 2}}), "holds a set"),
        (an_object({1: 2}), "the key 1"),
        (deep(3_000), "deeper than 200 levels"),
        (ROUND, "deeper than 200 levels"),
        (doubled(60), "more than 100,000 values"),
    ],
    ids=["infinity", "nan", "a set", "a key", "deep", "round", "doubled"],
)
def test_a_schema_that_cannot_be_sent_is_a_mistake_that_is_named(
    provider: Provider, schema: dict[str, Any], said: str
) -> None:
    encoder = Encoder(wire_of(provider.api), Target(provider, "a-model"))
    with pytest.raises(ConfigError, match=f"tool 't'.*{said}"):
        encoder.body(Request((HI,), (ToolSpec("t", "d", schema),)))
    assert "hi" in str(json.loads(encoder.body(Request((HI,)))))  # and the next request can be


def test_a_schema_as_it_should_be_stays_equal() -> None:
    schema = {**an_object({"enum": [1, 2.5, None, True, "ü"]}), "required": ["a"]}
    assert sendable_tool(ToolSpec("t", "d", schema)) == ToolSpec("t", "d", schema)
    assert MAX_VALUES > 10_000


def test_mappings_and_tuples_are_objects_and_lists() -> None:
    schema = MappingProxyType({"type": "object", "required": ("a",)})
    sent = sendable_tool(ToolSpec("t", "d", schema))
    assert sent.parameters == {"type": "object", "required": ["a"]}
