"""Strict schemas: what can be written strictly is, what cannot is refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chapters.ch04 import strict_schema as module
from chapters.ch04.provider import Strict
from chapters.ch04.strict_schema import (
    NotStrict,
    may_be_null,
    strict_schema,
    strictness,
    unions,
    without_nulls,
)
from shared.messages import ToolCall, ToolSpec

TEXT = {"type": "string"}
NUMBER = {"type": "number"}
NULL = {"type": "null"}
CLOSED = {"additionalProperties": False}


def an_object(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


def strict_object(**properties: Any) -> dict[str, Any]:
    return {**an_object(*properties, **properties), **CLOSED}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, NULL]}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        pytest.param({}, strict_object(), id="no schema at all: an object without properties"),
        pytest.param({"type": "object"}, strict_object(), id="no properties"),
        pytest.param(an_object("a", a=TEXT), strict_object(a=TEXT), id="all required"),
        pytest.param(an_object(a=TEXT), strict_object(a=or_null(TEXT)), id="optional: may be null"),
        pytest.param(
            an_object(a={"type": ["string", "null"]}),
            strict_object(a={"type": ["string", "null"]}),
            id="null is allowed already",
        ),
        pytest.param(
            an_object(a={"anyOf": [TEXT, NUMBER], "description": "d"}),
            strict_object(a={"anyOf": [TEXT, NUMBER, NULL], "description": "d"}),
            id="optional alternatives: null is one more",
        ),
        pytest.param(
            an_object("a", a={"oneOf": [TEXT, NUMBER]}),
            strict_object(a={"anyOf": [TEXT, NUMBER]}),
            id="oneOf is anyOf",
        ),
        pytest.param(
            an_object("a", a=an_object(b=TEXT)),
            strict_object(a=strict_object(b=or_null(TEXT))),
            id="objects inside",
        ),
        pytest.param(
            an_object("a", a={"type": "array", "items": an_object("b", b=TEXT)}),
            strict_object(a={"type": "array", "items": strict_object(b=TEXT)}),
            id="objects in a list",
        ),
        pytest.param(
            {**an_object("a", a={"$ref": "#/$defs/x~1y"}), "$defs": {"x/y": TEXT}},
            strict_object(a=TEXT),
            id="a reference is written out",
        ),
        pytest.param(
            {**an_object("a", a={"$ref": "#/$defs/x", "description": "d"}), "$defs": {"x": TEXT}},
            strict_object(a={**TEXT, "description": "d"}),
            id="what stands beside a reference is kept",
        ),
        pytest.param(
            an_object("a", a={**TEXT, "default": "x", "title": "A", "pattern": "^x$"}),
            strict_object(a={**TEXT, "pattern": "^x$"}),
            id="defaults and titles go, rules stay",
        ),
    ],
)
def test_an_equal_strict_schema_is_made(schema: dict[str, Any], strict: dict[str, Any]) -> None:
    before = json.dumps(schema)
    assert strict_schema(schema) == strict
    assert json.dumps(schema) == before


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = an_object()
    for _ in range(levels - 1):
        schema = an_object("a", a=schema)
    return schema


LOOP = {"x": an_object("again", again={"$ref": "#/$defs/x"})}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "array"}, "the root is not an object"),
        ({"anyOf": [an_object()]}, "the root is not an object"),
        (an_object(a={"type": "object"}), "may have any property"),
        ({**an_object(), "additionalProperties": True}, "may have any property"),
        (an_object(a={**an_object(), "additionalProperties": TEXT}), "may have any property"),
        (an_object(a={}), "a property has no type"),
        (an_object(a=True), "a part of it is no object"),
        (an_object(a={"type": "array"}), "a part of it is no object"),
        (an_object(a={"allOf": [TEXT]}), "allOf is not possible"),
        (an_object(a={"type": "array", "items": TEXT, "prefixItems": []}), "prefixItems"),
        (an_object(a={"anyOf": [TEXT], "properties": {}}), "properties stands beside"),
        ({**an_object(a={"$ref": "#/$defs/x"}), "$defs": LOOP}, "it contains itself"),
        (an_object(a={"$ref": "#"}), "leads nowhere, or to all of it"),
        (an_object(a={"$ref": "#/$defs/x"}), "leads nowhere"),
        (deep(11), "deeper than 10 levels"),
    ],
)
def test_what_cannot_be_strict_is_refused_with_a_reason(
    schema: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NotStrict, match=reason):
        strict_schema(schema)


def test_ten_levels_are_not_too_deep() -> None:
    assert strict_schema(deep(10))["required"] == ["a"]


def spec(schema: dict[str, Any]) -> ToolSpec:
    return ToolSpec("t", "d", schema)


OPEN = an_object(a={"type": "object"})


@pytest.mark.parametrize(
    ("schema", "strict", "said"),
    [
        (an_object("a", a=TEXT), Strict.OMIT, (an_object("a", a=TEXT), {})),
        (an_object("a", a=TEXT), Strict.OFF, (an_object("a", a=TEXT), {"strict": False})),
        (an_object("a", a=TEXT), Strict.ON, (strict_object(a=TEXT), {"strict": True})),
        (OPEN, Strict.ON, (OPEN, {"strict": False})),
    ],
    ids=["nothing is said", "not strict", "strict", "wished for, but not possible"],
)
def test_strictness_is_a_wish(schema: dict[str, Any], strict: Strict, said: Any) -> None:
    assert strictness(spec(schema), strict) == said


@pytest.mark.parametrize(
    ("schema", "count"),
    [
        (an_object(a=TEXT), 0),
        (an_object(a=or_null(TEXT), b={"type": ["string", "null"]}), 2),
        (an_object(a={"anyOf": [or_null(TEXT), NUMBER]}), 2),
        (True, 0),
    ],
)
def test_unions_are_counted(schema: Any, count: int) -> None:
    assert unions(schema) == count


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (NULL, True),
        (TEXT, False),
        ({"type": ["string", "null"]}, True),
        ({"oneOf": [TEXT, or_null(NUMBER)]}, True),
        ({"anyOf": [TEXT]}, False),
    ],
)
def test_whether_null_is_a_value(schema: dict[str, Any], expected: bool) -> None:
    assert may_be_null(schema) is expected


INNER = an_object(b=TEXT)
REFERRED = {"$defs": {"inner": INNER, "nothing": or_null(TEXT)}}


@pytest.mark.parametrize(
    ("schema", "given", "left"),
    [
        pytest.param(an_object(a=TEXT), {"a": None}, {}, id="optional: not given"),
        pytest.param(an_object("a", a=TEXT), {"a": None}, {"a": None}, id="required: wrong stays"),
        pytest.param(an_object(a=or_null(TEXT)), {"a": None}, {"a": None}, id="null is a value"),
        pytest.param(an_object(a=TEXT), {"x": None}, {"x": None}, id="unknown: not ours to judge"),
        pytest.param(an_object(a=INNER), {"a": {"b": None}}, {"a": {}}, id="inside"),
        pytest.param(
            an_object(a={"type": "array", "items": INNER}),
            {"a": [{"b": None}, {"b": "x"}]},
            {"a": [{}, {"b": "x"}]},
            id="in a list",
        ),
        pytest.param(
            {**an_object(a={"$ref": "#/$defs/inner"}), **REFERRED},
            {"a": {"b": None}},
            {"a": {}},
            id="behind a reference",
        ),
        pytest.param(
            {**an_object(a={"$ref": "#/$defs/nothing"}), **REFERRED},
            {"a": None},
            {"a": None},
            id="null is a value behind a reference",
        ),
        pytest.param(
            {**an_object(a={"anyOf": [{"$ref": "#/$defs/inner"}, NULL]}), **REFERRED},
            {"a": {"b": None}},
            {"a": {}},
            id="in the only alternative that is an object",
        ),
        pytest.param(
            an_object(a={"anyOf": [INNER, an_object(b=or_null(TEXT))]}),
            {"a": {"b": None}},
            {"a": {"b": None}},
            id="in one of two alternatives: stays",
        ),
    ],
)
def test_only_the_nulls_that_strictness_asked_for_are_taken_out(
    schema: dict[str, Any], given: Any, left: Any
) -> None:
    call = ToolCall("c", "t", json.dumps(given))
    assert json.loads(without_nulls(call, spec(schema)).arguments) == left


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        ('{"a":  "x"}', an_object(a=TEXT)),
        ('{"a": ', an_object(a=TEXT)),
        ("[null]", an_object(a=TEXT)),
        ('{"a": null}', an_object(a={"$ref": "#"})),
        ('{"a": null}', {**OPEN, "properties": {"a": TEXT, "b": {}}}),
    ],
    ids=["nothing to take out", "no JSON", "no object", "a schema with a loop", "not strict"],
)
def test_other_arguments_stay_as_the_model_wrote_them(
    arguments: str, schema: dict[str, Any]
) -> None:
    call = ToolCall("c", "t", arguments)
    assert without_nulls(call, spec(schema)) == call


def pairs(links: int, last: Any = TEXT) -> dict[str, Any]:
    """Definitions of which each is two of the next: 2 to the power of `links`, written out."""
    next_one = {"anyOf": [{"$ref": "#/$defs/d{}"}, {"$ref": "#/$defs/d{}"}]}
    definitions = {
        f"d{number}": json.loads(json.dumps(next_one).replace("{}", str(number + 1)))
        for number in range(links)
    }
    definitions[f"d{links}"] = last
    return {**an_object("a", a={"$ref": "#/$defs/d0"}), "$defs": definitions}


def chained(links: int) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        f"d{number}": {"$ref": f"#/$defs/d{number + 1}"} for number in range(links)
    }
    definitions[f"d{links}"] = TEXT
    return {**an_object("a", a={"$ref": "#/$defs/d0"}), "$defs": definitions}


def alternatives(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = TEXT
    for _ in range(levels):
        inner = {"anyOf": [inner, NUMBER]}
    return inner


WORDY = {"type": "string", "description": "d" * 1_000}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        (pairs(40), "more than 10,000 parts"),
        (pairs(8, WORDY), "more than 120,000 characters"),
        (an_object(**{f"p{number}": TEXT for number in range(5_001)}), "5,000 properties"),
        (an_object("a", a={"enum": list(range(1_001)), **NUMBER}), "1,000 enum values"),
        (an_object("a", **{"n" * 120_001: TEXT}), "120,000 characters"),
        (chained(200), "deeper"),
        (an_object("a", a=alternatives(200)), "deeper"),
    ],
    ids=["parts", "texts", "properties", "enum", "names", "references", "alternatives"],
)
def test_what_grows_beyond_what_providers_take_is_not_strict(
    schema: dict[str, Any], reason: str
) -> None:
    with pytest.raises(NotStrict, match=reason):
        strict_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        pairs(6),
        chained(20),
        an_object(**{f"p{number}": TEXT for number in range(5_000)}),
        an_object("a", a={"enum": list(range(1_000)), **NUMBER}),
    ],
    ids=["pairs", "references", "properties", "enum"],
)
def test_what_stays_within_it_is_strict(schema: dict[str, Any]) -> None:
    assert strict_schema(schema)["additionalProperties"] is False


def test_the_work_for_a_schema_that_grows_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up = 0

    def counting(*arguments: Any) -> Any:
        nonlocal looked_up
        looked_up += 1
        return found(*arguments)

    found = module._found
    monkeypatch.setattr(module, "_found", counting)
    tool, sent = spec(pairs(40)), ToolCall("c", "t", '{"a": null}')
    assert strictness(tool, Strict.ON) == (tool.parameters, {"strict": False})
    assert without_nulls(sent, tool) == sent
    assert looked_up < 20_000


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": [1]},
        {"type": "object", "properties": None},
        {"type": "object", "properties": {"a": TEXT}, "required": None},
        {"type": "object", "properties": {"a": TEXT}, "required": [["a"]]},
        an_object(a={"anyOf": 5}),
        an_object(a={"oneOf": None}),
        an_object(a={"type": 5}),
        an_object(a={"type": True}),
        an_object(a={"type": ["string", 5]}),
        an_object(a={"type": "string", "enum": 5}),
        an_object(a={"type": "array", "items": [TEXT]}),
        an_object(a={"$ref": 5}),
        an_object(a={"$ref": ["#"]}),
        an_object(a={"type": "string", "default": 1, "const": {1, 2}}),
        {"type": 5},
        {"type": ["object"]},
    ],
    ids=str,
)
def test_a_malformed_schema_is_not_strict_and_its_calls_are_left_alone(
    schema: dict[str, Any],
) -> None:
    with pytest.raises(NotStrict):
        strict_schema(schema)
    assert strictness(spec(schema), Strict.ON)[1] == {"strict": False}
    sent = ToolCall("c", "t", '{"a": null}')
    assert without_nulls(sent, spec(schema)) is sent


@pytest.mark.parametrize(
    ("reference", "name"),
    [("#/$defs/a%20b", "a b"), ("#/$defs/a~1b", "a/b"), ("#/%24defs/a%7E1b", "a/b")],
)
def test_a_reference_may_be_written_as_part_of_an_address(reference: str, name: str) -> None:
    schema = {**an_object("x", x={"$ref": reference}), "$defs": {name: TEXT}}
    assert strict_schema(schema) == strict_object(x=TEXT)
