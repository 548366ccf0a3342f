"""What our functions make of a row of the area `validation`, and where we decide differently."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from chapters.ch05.validation import COERCING, json_schema_tool
from shared.errors import ToolError
from shared.messages import ToolSpec
from shared.tools import Effect
from tests.vectors.peer_row import Json, Row


def outcome(row: Row, expect: Json) -> Json:
    """The row's `expect` as we would write it."""
    given = row.given
    spec = ToolSpec(given["toolName"], "A tool.", given["schema"])
    tool = json_schema_tool(spec, Effect.READ, _never, COERCING)
    before = json.dumps(given)
    try:
        value = tool.validate(given["arguments"])
    except ToolError as error:
        return {"error": error.message}
    return {"value": value, "inputMutated": json.dumps(given) != before}


async def _never(arguments: Any) -> str:
    raise NotImplementedError


REFUSED: dict[tuple[str, Any], Any] = {
    ("number", ""): 0,
    ("number", "true"): 1,
    ("integer", 5.5): 5,
    ("boolean", "TRUE"): True,
    ("boolean", "1"): True,
}
"""What the schema library converts and the table does not: type and value, and what it makes."""


def one_table(given: Json, expect: Json) -> Json:
    """Who built a schema makes no difference to what it means."""
    if given["schemaKind"] == "json-schema" or "value" not in expect:
        return expect
    problems, value = [], dict(expect["value"])
    for name, part in given["schema"].get("properties", {}).items():
        sent = given["arguments"].get(name)
        refused = isinstance(sent, str | float) and (part["type"], sent) in REFUSED
        if refused and value.get(name) == REFUSED[part["type"], sent]:
            problems.append(f"  - {name}: must be {part['type']}")
        if sent is None and part["type"] == "string" and value.get(name) == "null":
            value[name] = ""
    if not problems:
        return {**expect, "value": value}
    received = json.dumps(given["arguments"], indent=2, ensure_ascii=False)
    head = f'Validation failed for tool "{given["toolName"]}":'
    return {"error": "\n".join([head, *problems, "", "Received arguments:", received])}


def null_is_not_given(given: Json, expect: Json) -> Json:
    """null for an optional property that cannot be null: the property is left out."""
    if "value" not in expect:
        return expect
    required = given["schema"].get("required", ())
    value = {
        name: inner
        for name, inner in expect["value"].items()
        if name in required
        or not _was_null(given, name)
        or _takes_null(given["schema"]["properties"][name])
        or inner not in (0, "", False)
    }
    return {**expect, "value": value}


def what_fits_stays(given: Json, expect: Json) -> Json:
    """A value that is one of the kinds of a union is not made into another one."""
    if "value" not in expect:
        return expect
    value = {
        name: None
        if _was_null(given, name)
        and _takes_null(given["schema"]["properties"][name])
        and inner in (0, "", False)
        else inner
        for name, inner in expect["value"].items()
    }
    return {**expect, "value": value}


def _was_null(given: Json, name: str) -> bool:
    declared = name in given["schema"].get("properties", {})
    return declared and name in given["arguments"] and given["arguments"][name] is None


def _takes_null(part: Json) -> bool:
    kinds = part.get("type", ())
    branches = [*part.get("anyOf", ()), *part.get("oneOf", ())]
    return "null" in ([kinds] if isinstance(kinds, str) else kinds) or any(
        map(_takes_null, branches)
    )


OURS: dict[str, Callable[[Json, Json], Json]] = {
    "one-table": one_table,
    "null-is-not-given": null_is_not_given,
    "what-fits-stays": what_fits_stays,
}
"""The decisions of this area, told in `decisions_arguments.toml`."""
