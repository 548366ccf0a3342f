"""Schemas that a provider can hold a model to, made from those that describe a tool.

A strict schema lists every property as required and forbids all others. A parameter that may be
left out becomes one that may be null, and the nulls that come back for it are taken out again. Not
every schema can be written so; such a tool is sent with `"strict": false`. Arguments are validated
in any case: compatible servers ignore the word, and a reply that was cut off breaks every promise.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.provider import Strict
from shared.errors import ToolError
from shared.messages import ToolCall, ToolSpec

Schema = dict[str, Any]

REFUSED = {
    *("allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas"),
    *("dependencies", "dependentRequired", "unevaluatedProperties", "propertyNames"),
    *("contains", "prefixItems", "$dynamicRef"),
}
DROPPED = {"default", "title", "discriminator", "$defs", "definitions", "$schema", "$id"}
MAX_DEPTH = 10
MAX_WITHIN = 100  # the same, with alternatives and references counted
BUDGET = {"parts": 10_000, "properties": 5_000, "enum values": 1_000, "characters": 120_000}
NULL = {"type": "null"}


class NotStrict(ValueError):
    """The schema cannot be made strict; the message says which part of it."""


def strictness(spec: ToolSpec, strict: Strict) -> tuple[Schema, dict[str, bool]]:
    """The schema to send for a tool, and what is said about it."""
    parameters = dict(spec.parameters)
    if strict is Strict.OMIT:
        return parameters, {}
    if strict is Strict.ON:
        try:
            return strict_schema(parameters), {"strict": True}
        except NotStrict:
            pass
    return parameters, {"strict": False}


# region: strict
def strict_schema(schema: Mapping[str, Any]) -> Schema:
    """An equal schema in which every property is required and no other allowed, or NotStrict."""
    if schema.get("type", "object") != "object" or schema.keys() & {"anyOf", "oneOf", "$ref"}:
        raise NotStrict("the root is not an object")
    return _Writer(schema).part({"properties": {}, **schema, "type": "object"}, depth=1)


class _Writer:
    """Writes a schema anew, part by part, and stops where it grows beyond what providers take.

    References are written out, so a small schema can grow without bound.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._within = 0  # how many parts the one at hand is in
        self._left = dict(BUDGET)

    def part(self, schema: Any, depth: int, seen: tuple[str, ...] = ()) -> Schema:
        self._spend("parts", 1)
        self._within += 1
        if depth > MAX_DEPTH or self._within > MAX_WITHIN:
            raise NotStrict(f"it is deeper than {MAX_DEPTH} levels")
        written = self._written(schema, depth, seen)
        self._within -= 1
        return written

    def _written(self, schema: Any, depth: int, seen: tuple[str, ...]) -> Schema:
        if not isinstance(schema, Mapping):
            raise NotStrict("a part of it is no object")
        if refused := sorted(schema.keys() & REFUSED):
            raise NotStrict(f"{refused[0]} is not possible")
        if "$ref" in schema:  # written out, since nothing may stand beside it
            reference = str(schema["$ref"])
            if reference in seen:
                raise NotStrict("it contains itself")
            return self.part(_referred(schema, self._root), depth, (*seen, reference))
        kept = {key: value for key, value in schema.items() if key not in DROPPED}
        branches = [*_list(kept.pop("anyOf", [])), *_list(kept.pop("oneOf", []))]
        if branches:
            if others := sorted(kept.keys() & {"properties", "items"}):
                raise NotStrict(f"{others[0]} stands beside alternatives")
            self._spend_on(kept)
            return {**kept, "anyOf": [self.part(branch, depth, seen) for branch in branches]}
        kinds = _kinds(kept)
        if not kinds:
            raise NotStrict("a property has no type")
        if "object" in kinds:
            properties = kept.pop("properties", None)
            self._spend_on(kept)
            return kept | self._object(kept, properties, depth, seen)
        if "array" in kinds:
            items = kept.pop("items", None)
            self._spend_on(kept)
            return kept | {"items": self.part(items, depth + 1, seen)}
        self._spend_on(kept)
        return kept

    def _object(self, schema: Schema, listed: Any, depth: int, seen: tuple[str, ...]) -> Schema:
        if schema.get("additionalProperties", False) is not False or listed is None:
            raise NotStrict("an object may have any property")
        if not isinstance(listed, Mapping):
            raise NotStrict("the properties of an object are none")
        required = set(_list(schema.get("required", []), str))
        properties = {}
        for name, inner in listed.items():
            self._spend("properties", 1)
            self._spend("characters", len(str(name)))
            strict = self.part(inner, depth + 1, seen)
            properties[name] = strict if name in required else _nullable(strict)
        closed = {"required": list(properties), "additionalProperties": False}
        return {"properties": properties, **closed}

    def _spend_on(self, kept: Schema) -> None:
        """Count what stands in one part besides the parts in it."""
        self._spend("enum values", len(_list(kept.get("enum", []))))
        try:
            size = len(json.dumps(kept))
        except (TypeError, ValueError, RecursionError):
            raise NotStrict("a part of it is no JSON") from None
        self._spend("characters", size)

    def _spend(self, what: str, number: int) -> None:
        self._left[what] -= number
        if self._left[what] < 0:
            raise NotStrict(f"it has more than {BUDGET[what]:,} {what}")


def _nullable(schema: Schema) -> Schema:
    if may_be_null(schema):
        return schema
    if set(schema) <= {"anyOf", "description"}:
        return {**schema, "anyOf": [*schema["anyOf"], NULL]}
    return {"anyOf": [schema, NULL]}


# endregion: strict


def may_be_null(schema: Mapping[str, Any]) -> bool:
    """Whether null is a value that the schema takes."""
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return "null" in _kinds(schema) or any(may_be_null(branch) for branch in branches)


def unions(schema: Any) -> int:
    """How many parts of a schema may be of more than one type; a provider may count them."""
    if isinstance(schema, list):
        return sum(map(unions, schema))
    if not isinstance(schema, Mapping):
        return 0
    union = "anyOf" in schema or isinstance(schema.get("type"), list)
    return union + sum(map(unions, schema.values()))


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type")
    if kind is None:
        return []
    return [kind] if isinstance(kind, str) else _list(kind, str)


def _list(value: Any, of: type = object) -> list[Any]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, of) for each in value):
        raise NotStrict("what should be a list in it is none")
    return list(value)


def _referred(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Schema:
    """What the reference of a part means, with what stands beside it."""
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {**_found(schema["$ref"], root), **beside}


def _found(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for step in str(reference).removeprefix("#").split("/")[1:]:
        step = unquote(step).replace("~1", "/").replace("~0", "~")
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or found is root:
        raise NotStrict(f"{reference} leads nowhere, or to all of it")
    return found


# region: nulls
def without_nulls(call: ToolCall, spec: ToolSpec) -> ToolCall:
    """The call without the nulls that only a strict schema asked for: not given, they mean."""
    if "null" not in call.arguments:
        return call
    try:
        strict_schema(spec.parameters)
        arguments = parse_arguments(call.arguments)
    except (NotStrict, ToolError):
        return call
    given = _given(arguments, spec.parameters, spec.parameters)
    if given == arguments:
        return call
    return replace(call, arguments=json.dumps(given, ensure_ascii=False))


def _given(value: Any, schema: Any, root: Mapping[str, Any]) -> Any:
    schema = _meant(value, schema, root)
    if isinstance(value, list):
        return [_given(item, schema.get("items"), root) for item in value]
    if not isinstance(value, dict):
        return value
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: _given(inner, properties.get(name), root)
        for name, inner in value.items()
        if inner is not None
        or name in required
        or may_be_null(_resolved(properties.get(name, NULL), root))
    }


def _meant(value: Any, schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a schema that describes a list or an object, if only one alternative does."""
    described = _resolved(schema or {}, root)
    branches = [*described.get("anyOf", ()), *described.get("oneOf", ())]
    if not branches:
        return described
    kind = "array" if isinstance(value, list) else "object"
    resolved = [_resolved(branch, root) for branch in branches]
    found = [branch for branch in resolved if kind in _kinds(branch)]
    return found[0] if len(found) == 1 else {}


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:  # ends: a strict schema does not contain itself
        schema = _referred(schema, root)
    return schema


# endregion: nulls
