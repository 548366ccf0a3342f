"""Our decisions about tools on offer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.vectors.peer_places import blocks_given, calls, replies
from tests.vectors.peer_provider import NOT_STRICT, compat_of, whom, wishes_strict
from tests.vectors.peer_row import Json

KEPT = ("type", "properties", "required")
IMPOSSIBLE = {"allOf", "not", "if", "then", "else", "patternProperties", "dependentSchemas"}
IMPOSSIBLE |= {"dependencies", "unevaluatedProperties", "propertyNames", "contains", "prefixItems"}
NOT_IN_STRICT = {*IMPOSSIBLE, "oneOf", "$ref", "$defs", "definitions", "default"}


def whole_schema(given: Json, expect: Json) -> Json:
    """Anthropic's schema is the tool's own, with what the API insists on."""
    for entry, tool in _pairs(given, expect):
        schema = _for_anthropic(tool)
        if entry.get("input_schema") == {name: schema[name] for name in KEPT}:
            entry["input_schema"] = schema
    return expect


def names_stay(given: Json, expect: Json) -> Json:
    """A tool is called what it is called, whatever the key looks like; so is the one who talks."""
    if not given.get("oauthToken"):
        return expect
    for entry, tool in _pairs(given, expect):
        entry["name"] = tool["name"]
    called = [block for reply in replies(given) for block in blocks_given(reply)]
    names = [block["name"] for block in called if block["type"] == "toolCall"]
    for (call, _), name in zip(calls(expect), names, strict=False):
        call["name"] = name
    if isinstance(expect.get("system"), list):
        own = [block for block in expect["system"] if block["text"] == given.get("systemPrompt")]
        expect["system"] = own or None
    return expect


def strict_is_a_wish(given: Json, expect: Json) -> Json:
    """A tool that cannot be strict is sent as not strict; one that can be made so, is."""
    tools = given.get("tools") or []
    if tools and "constrained sampling" in expect.get("error", ""):
        return _offered(given, [_offer(given, tool) for tool in tools])
    for entry, tool in _pairs(given, expect):
        kind = (tool.get("constrainedSampling") or {}).get("type")
        function = entry.get("function", entry)
        if kind == "grammar" or (kind and not function.get("strict")):
            mark = {key: entry[key] for key in ("cache_control",) if key in entry}
            entry.clear()
            entry.update(_offer(given, tool), **mark)
        elif whom(given)[0] == "openai-responses":
            entry.setdefault("strict", False)  # the API insists on the word
    return expect


def repeated_tools_stay(given: Json, expect: Json) -> Json:
    """Converters keep what they get: no registry lets two tools of one name come so far."""
    wire, tools = expect.get("tools"), given.get("tools") or []
    if wire and "functionDeclarations" not in wire[0] and len(wire) < len(tools):
        return {**expect, **_offered(given, [_offer(given, tool) for tool in tools])}
    return expect


def no_empty_list(given: Json, expect: Json) -> Json:
    """Without tools nothing is said about tools."""
    return {**expect, "tools": None} if expect.get("tools") == [] else expect


def one_schema_field(given: Json, expect: Json) -> Json:
    """Gemini's schema goes into the field that takes any JSON Schema."""
    for entry, tool in _pairs(given, expect):
        if "parameters" in entry and whom(given)[0] == "google-generative-ai":
            del entry["parameters"]
            entry["parametersJsonSchema"] = tool["parameters"]
    return expect


class StrictSchema(dict[str, Any]):
    """Equal to each schema that is strict and offers the properties that the given one offers."""

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Mapping)
            and _is_strict(other)
            and all(_offers(other, self, name) for name in self.get("properties", {}))
            and other["properties"].keys() == self.get("properties", {}).keys()
        )

    __hash__ = None


def _offers(strict: Mapping[str, Any], schema: Mapping[str, Any], name: str) -> bool:
    """Whether what may be left out may be null."""
    if name in schema.get("required", ()):
        return True
    offered = strict["properties"].get(name, {})
    branches = offered.get("anyOf", ()) or [offered]
    return any("null" in [*_kinds(branch)] for branch in branches)


def _is_strict(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(_is_strict(inner) for inner in schema)
    if not isinstance(schema, Mapping):
        return True
    if schema.keys() & NOT_IN_STRICT:
        return False
    if "object" in _kinds(schema) and (
        schema.get("additionalProperties") is not False
        or schema.get("required") != list(schema.get("properties", {}))
    ):
        return False
    inner = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    return _is_strict(inner) and _is_strict(schema.get("items"))


def _can_be_strict(schema: Any, root: Mapping[str, Any], depth: int = 0) -> bool:
    if not isinstance(schema, Mapping) or schema.keys() & IMPOSSIBLE or depth > 9:
        return False
    if "$ref" in schema:
        found: Any = root
        for step in schema["$ref"].split("/")[1:]:
            found = found.get(step, {})
        return _can_be_strict(found, root, depth + 1)
    branches = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    if branches:
        return depth > 0 and all(_can_be_strict(branch, root, depth + 1) for branch in branches)
    if "object" in _kinds(schema) or depth == 0:
        open_ended = schema.get("additionalProperties", False) is not False
        inner = schema.get("properties", {} if depth == 0 else None)
        if open_ended or inner is None:
            return False
        return all(_can_be_strict(each, root, depth + 1) for each in inner.values())
    if "array" in _kinds(schema):
        return _can_be_strict(schema.get("items"), root, depth + 1)
    return bool(_kinds(schema))


def _kinds(schema: Mapping[str, Any]) -> list[str]:
    kind = schema.get("type", ())
    return [kind] if isinstance(kind, str) else list(kind)


def _offer(given: Json, tool: Json) -> Json:
    """One tool as we offer it."""
    api, provider, _ = whom(given)
    compat = compat_of(given)
    told = {"name": tool["name"], "description": tool["description"]}
    schema: Json = tool["parameters"]
    if api == "anthropic-messages":
        speaks = bool(compat.get("supportsStrictTools"))
    else:
        speaks = compat.get("supportsStrictMode", provider not in NOT_STRICT)
    insists = api == "openai-responses"
    is_strict = speaks and wishes_strict(tool) and _can_be_strict(schema, schema)
    if is_strict:
        schema = StrictSchema(schema)
    match api:
        case "anthropic-messages":
            eager = compat.get("supportsEagerToolInputStreaming", True)
            told |= {"input_schema": schema if is_strict else _for_anthropic(tool)}
            told |= {"eager_input_streaming": True} if eager else {}
            return {**told, "strict": True} if is_strict else told
        case "google-generative-ai":
            return {**told, "parametersJsonSchema": tool["parameters"]}
    told |= {"parameters": schema, **({"strict": is_strict} if speaks or insists else {})}
    if api == "openai-completions":
        return {"type": "function", "function": told}
    return {"type": "function", **told}


def _for_anthropic(tool: Json) -> Json:
    return {"properties": {}, "required": [], **tool["parameters"], "type": "object"}


def _offered(given: Json, tools: list[Json]) -> Json:
    if whom(given)[0] == "google-generative-ai":
        return {"tools": [{"functionDeclarations": tools}]}
    kept = given.get("cacheRetention", "short")
    if whom(given)[0] == "anthropic-messages" and kept != "none":
        longer = {"ttl": "1h"} if kept == "long" else {}
        tools[-1]["cache_control"] = {"type": "ephemeral", **longer}
    return {"tools": tools}


def _pairs(given: Json, expect: Json) -> list[tuple[Json, Json]]:
    wire = expect.get("tools")
    if not isinstance(wire, list) or not wire:
        return []
    entries = wire[0].get("functionDeclarations", wire)
    tools = given.get("tools") or []
    return list(zip(entries, tools, strict=True)) if len(entries) == len(tools) else []
