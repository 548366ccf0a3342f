"""Values are brought to the type that a schema asks for where no meaning is lost, only there."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chapters.ch05.coercion import Coercion
from chapters.ch05.number_text import number_of, text_of
from chapters.ch05.schema_check import SchemaCheck

STAYS = object()


def coerced(schema: Any, value: Any) -> Any:
    """`value` as the schema asks for it."""
    return Coercion(schema, SchemaCheck(schema).fits).coerce(schema, value)


def exactly(value: Any) -> str:
    """Tells true from 1 and 5 from 5.0, as `==` does not."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        ("number", "5", 5),
        ("number", "5.5", 5.5),
        ("number", " 5 ", 5),
        ("number", "\u00a05\ufeff", 5),
        ("number", "1e3", 1000),
        ("number", "0x10", 16),
        ("number", "0b101", 5),
        ("number", "-.5", -0.5),
        ("number", "5.", 5),
        ("number", True, 1),
        ("number", False, 0),
        ("number", None, 0),
        ("number", "", STAYS),
        ("number", " ", STAYS),
        ("number", "abc", STAYS),
        ("number", "1_000", STAYS),
        ("number", "1,5", STAYS),
        ("number", "NaN", STAYS),
        ("number", "Infinity", STAYS),
        ("number", "inf", STAYS),
        ("number", "1e400", STAYS),
        ("number", "9" * 5_000, STAYS),
        ("number", "0x" + "f" * 5_000, STAYS),
        ("number", "-0x10", STAYS),
        ("number", "٣", STAYS),
        ("number", "\x1c5", STAYS),
        ("number", "true", STAYS),
        ("number", ["5"], STAYS),
        ("integer", "5", 5),
        ("integer", "5.0", 5),
        ("integer", "0x10", 16),
        ("integer", "12345678901234567890", 12345678901234567890),
        ("integer", 5.0, 5),
        ("integer", True, 1),
        ("integer", None, 0),
        ("integer", 5.5, STAYS),
        ("integer", "5.5", STAYS),
        ("integer", "", STAYS),
        ("string", 123, "123"),
        ("string", 5.5, "5.5"),
        ("string", 5.0, "5"),
        ("string", 1e21, "1e+21"),
        ("string", True, "true"),
        ("string", None, ""),
        ("string", {}, STAYS),
        ("string", [], STAYS),
        ("boolean", "true", True),
        ("boolean", "false", False),
        ("boolean", 1, True),
        ("boolean", 0, False),
        ("boolean", None, False),
        ("boolean", "TRUE", STAYS),
        ("boolean", "1", STAYS),
        ("boolean", "yes", STAYS),
        ("boolean", 5, STAYS),
        ("null", "", None),
        ("null", 0, None),
        ("null", False, None),
        ("null", "null", STAYS),
        ("null", "0", STAYS),
        ("null", [], STAYS),
        ("array", "x", STAYS),
        ("object", "{}", STAYS),
    ],
    ids=repr,
)
def test_the_table(kind: str, value: Any, wanted: Any) -> None:
    wanted = value if wanted is STAYS else wanted
    assert exactly(coerced({"type": kind}, value)) == exactly(wanted)


NUMBERS = {"type": "array", "items": {"type": "number"}}
TREE = {
    "$defs": {"node": {"properties": {"size": {"type": "integer"}, "child": {"$ref": "#"}}}},
    "$ref": "#/$defs/node",
}


@pytest.mark.parametrize(
    ("schema", "value", "wanted", "reason"),
    [
        (NUMBERS, ["1", 2], [1, 2], "items one by one"),
        (NUMBERS, "1", "1", "a list is never made"),
        ({"prefixItems": [{"type": "number"}]}, ["1", "1"], [1, "1"], "items by their place"),
        ({"items": [{"type": "number"}]}, ["1", "1"], [1, "1"], "and as older drafts write it"),
        ({"type": ["string", "null"]}, None, None, "one of the types: left alone"),
        ({"type": ["number", "string"]}, "5", "5", "one of the types: left alone"),
        ({"type": ["number", "boolean"]}, "true", True, "the first type that changes it"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, None, None, "null fits"),
        ({"anyOf": [{"type": "number"}, {"type": "string"}]}, "5", "5", "a text fits"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "5", 5, "the first that it can be"),
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "true", True, "the second one"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5.0, 5, "an integer that fits"),
        ({"anyOf": [{"type": "number"}, NUMBERS]}, "x", "x", "none of them"),
        ({"allOf": [{"type": "number"}, {"minimum": 3}]}, "5", 5, "all of them"),
        ({"const": 5}, "5", "5", "a constant is what it is"),
        ({"enum": [1, 2]}, "1", "1", "and so are the allowed values"),
        ({"additionalProperties": {"type": "number"}}, {"x": "5"}, {"x": 5}, "other keys"),
        (
            {"properties": {"a": {}}, "additionalProperties": {"type": "number"}},
            {"a": "5"},
            {"a": "5"},
            "a declared key is not another one",
        ),
        (
            {"patternProperties": {"^n_": {"type": "number"}}},
            {"n_x": "5", "x": "5"},
            {"n_x": 5, "x": "5"},
            "keys by pattern",
        ),
        (TREE, {"child": {"child": {"size": "3"}}}, {"child": {"child": {"size": 3}}}, "a tree"),
        (
            {"$defs": {"a/b": {"type": "number"}}, "$ref": "#/$defs/a~1b"},
            "5",
            5,
            "a name with a slash",
        ),
        (True, "5", "5", "a schema that takes anything"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_where_it_reaches(schema: Any, value: Any, wanted: Any, reason: str) -> None:
    assert exactly(coerced(schema, value)) == exactly(wanted), reason


LIMIT = {"properties": {"limit": {"type": "number"}}}
NULLABLE = {"properties": {"limit": {"type": ["number", "null"]}}}


@pytest.mark.parametrize(
    ("schema", "wanted"),
    [
        (LIMIT, {}),
        ({**LIMIT, "required": ["limit"]}, {"limit": 0}),
        (NULLABLE, {"limit": None}),
        ({"properties": {"other": {}}}, {"limit": None}),
    ],
    ids=["optional: not given", "required: the table", "may be null", "nobody asked for it"],
)
def test_null_means_not_given_where_it_can_mean_nothing_else(schema: Any, wanted: Any) -> None:
    assert exactly(coerced(schema, {"limit": None})) == exactly(wanted)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e16, "10000000000000000"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.25e-5, "0.0000125"),
        (-1.5e-6, "-0.0000015"),
        (1e-7, "1e-7"),
        (2.5e-10, "2.5e-10"),
        (10**25, "10000000000000000000000000"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_numbers_are_written_as_in_javascript(number: float, text: str) -> None:
    assert text_of(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**300), 10**300))
def test_a_number_that_is_written_is_read_as_the_same(number: float) -> None:
    assert number_of(text_of(number)) == number


# -- what holds for every schema

SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("0155.ex ")
VALUES = st.recursive(
    SCALARS | st.sampled_from(["5", "true", "false", "", "0x10", 5.0]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner),
    max_leaves=10,
)
KINDS = st.sampled_from(["number", "integer", "string", "boolean", "null", "array", "object"])


def compound(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that are made of schemas."""
    several = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": KINDS,
            "items": inner,
            "prefixItems": several,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "additionalProperties": inner,
            "required": st.lists(st.sampled_from("abc"), unique=True),
            "anyOf": several,
            "oneOf": several,
            "allOf": several,
        },
    )


SCHEMAS = st.recursive(
    st.builds(lambda kind: {"type": kind}, KINDS | st.lists(KINDS, min_size=1, unique=True))
    | st.builds(lambda least: {"type": "number", "minimum": least}, st.integers(-2, 2))
    | st.just({"enum": [1, "a", None]})
    | st.booleans(),
    compound,
    max_leaves=6,
).filter(lambda schema: isinstance(schema, dict))  # the schema of a tool is never true or false
MANY = settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)


@MANY
@given(SCHEMAS, VALUES)
def test_what_is_given_is_never_changed(schema: Any, value: Any) -> None:
    before = copy.deepcopy(value)
    coerced(schema, value)
    assert exactly(value) == exactly(before)


@MANY
@given(SCHEMAS, VALUES)
def test_what_is_valid_stays_what_it_is(schema: Any, value: Any) -> None:
    """An integer that was written 5.0 becomes 5, which JSON Schema takes for the same."""
    assume(SchemaCheck(schema).fits(schema, value))
    assert exactly(_whole(coerced(schema, value))) == exactly(_whole(value))


@MANY
@given(SCHEMAS, VALUES)
def test_twice_is_as_good_as_once(schema: Any, value: Any) -> None:
    once = coerced(schema, value)
    assume(SchemaCheck(schema).fits(schema, once))
    assert exactly(coerced(schema, once)) == exactly(once)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_whole(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
