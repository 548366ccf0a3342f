"""Rows of the mode `schema`: a schema is made strict where that can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from chapters.ch04.adapters import wire_of
from chapters.ch04.conformance.answers import MODEL
from chapters.ch04.conformance.rows import Json, Row
from chapters.ch04.conformance.verdicts import Difference, differ
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.strict_schema import may_be_null
from chapters.ch04.wire import to_body
from shared.errors import ConfigError
from shared.messages import Request, ToolSpec, UserMessage

REFUSED = (
    *("oneOf", "allOf", "not", "if", "then", "else", "default", "patternProperties"),
    *("dependentSchemas", "dependentRequired"),
)
SCHEMA = {Api.CHAT: "parameters", Api.RESPONSES: "parameters", Api.ANTHROPIC: "input_schema"}


# region: judge
def judge(row: Row, provider: Provider) -> list[Difference]:
    """What is wrong with the tool that a record with strict decoding sends for the schema."""
    document = row.document()
    given: Json = document.get("in") or {}
    provider = replace(provider, strict=Strict.ON)
    request = Request((UserMessage("go"),), (ToolSpec("a_tool", "A tool.", given),))
    wanted = document.get("strict") is not False
    try:
        body = to_body(wire_of(provider.api), request, Target(provider, MODEL))
    except ConfigError as error:  # a tool that no provider takes is refused before it is sent
        return [Difference("refused", "the tool is sent", str(error))] if wanted else []
    tool = body["tools"][0]
    tool = tool.get("function", tool)
    found = [Difference("refused", "nothing", each) for each in _refused(body, provider)]
    found += differ("strict", wanted, tool.get("strict") is True)
    if wanted and not found:
        schema = tool[SCHEMA[provider.api]]
        found += strictness_of(schema, provider.api is not Api.ANTHROPIC, "schema", schema)
        found += same_parameters(given, schema, given, "schema")
    return found


def _refused(body: Json, provider: Provider) -> list[str]:
    return refusals(provider.api, body, provider)


# endregion: judge


def strictness_of(schema: Any, all_required: bool, where: str, root: Json) -> Iterator[Difference]:
    """Where a schema breaks the rules of strict decoding, at any depth."""
    if not isinstance(schema, Mapping):
        return
    for name in REFUSED:
        if name in schema:
            yield Difference(where, f"no {name}", f"{name} is there")
    if "$ref" in schema and len(schema) > 1:
        yield Difference(where, "$ref alone", f"beside {sorted(set(schema) - {'$ref'})}")
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        yield from differ(
            f"{where}.additionalProperties", False, schema.get("additionalProperties")
        )
        if all_required:
            yield from differ(
                f"{where}.required", sorted(properties), sorted(schema.get("required", ()))
            )
        for name, inner in properties.items():
            yield from strictness_of(inner, all_required, f"{where}.{name}", root)
    yield from strictness_of(schema.get("items"), all_required, f"{where}.items", root)
    for kind in ("anyOf", "$defs"):
        inner = schema.get(kind) or ()
        for branch in inner.values() if isinstance(inner, Mapping) else inner:
            yield from strictness_of(branch, all_required, f"{where}.{kind}", root)


def same_parameters(given: Json, sent: Json, root: Json, where: str) -> Iterator[Difference]:
    """The parameters are those that were given; one that may be left out may be null."""
    before, after = given.get("properties") or {}, sent.get("properties") or {}
    yield from differ(f"{where}.properties", sorted(before), sorted(after))
    for name in before.keys() & after.keys():
        left_out = name not in given.get("required", ()) and name in sent.get("required", ())
        if left_out and not may_be_null(after[name]):
            yield Difference(f"{where}.{name}", "null allowed: it was optional", "no null")
        if "properties" in before[name] and "properties" in after[name]:
            yield from same_parameters(before[name], after[name], root, f"{where}.{name}")
