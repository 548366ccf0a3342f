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
    return _strict({"properties": {}, **schema, "type": "object"}, schema, depth=1, seen=())


def _strict(schema: Any, root: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Schema:
    if not isinstance(schema, Mapping):
        raise NotStrict("a part of it is no object")
    if depth > MAX_DEPTH:
        raise NotStrict(f"it is deeper than {MAX_DEPTH} levels")
    if refused := sorted(schema.keys() & REFUSED):
        raise NotStrict(f"{refused[0]} is not possible")
    if "$ref" in schema:  # written out, since nothing may stand beside it
        reference = schema["$ref"]
        if reference in seen:
            raise NotStrict("it contains itself")
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = {**_found(reference, root), **beside}
        return _strict(target, root, depth, (*seen, reference))
    kept = {key: value for key, value in schema.items() if key not in DROPPED}
    branches = [*kept.pop("anyOf", ()), *kept.pop("oneOf", ())]
    if branches:
        if others := sorted(kept.keys() & {"properties", "items"}):
            raise NotStrict(f"{others[0]} stands beside alternatives")
        return {**kept, "anyOf": [_strict(branch, root, depth, seen) for branch in branches]}
    kinds = _kinds(kept)
    if not kinds:
        raise NotStrict("a property has no type")
    if "object" in kinds:
        return kept | _object(kept, root, depth, seen)
    if "array" in kinds:
        kept["items"] = _strict(kept.get("items"), root, depth + 1, seen)
    return kept


def _object(schema: Schema, root: Mapping[str, Any], depth: int, seen: tuple[str, ...]) -> Schema:
    if schema.get("additionalProperties", False) is not False or "properties" not in schema:
        raise NotStrict("an object may have any property")
    required = schema.get("required", ())
    properties = {}
    for name, inner in schema["properties"].items():
        strict = _strict(inner, root, depth + 1, seen)
        properties[name] = strict if name in required else _nullable(strict)
    return {"properties": properties, "required": list(properties), "additionalProperties": False}


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
    return [kind] if isinstance(kind, str) else list(kind or ())


def _found(reference: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for step in str(reference).removeprefix("#").split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        found = found.get(step) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or found is root:
        raise NotStrict(f"{reference} leads nowhere, or to all of it")
    return found


# region: nulls
def without_nulls(call: ToolCall, spec: ToolSpec) -> ToolCall:
    """The call without the nulls that only a strict schema asked for: not given, they mean."""
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
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**_found(schema["$ref"], root), **beside}
    return schema


# endregion: nulls
