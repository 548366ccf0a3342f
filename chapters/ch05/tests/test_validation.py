"""Arguments are copied, converted if the tool allows it, checked, and every problem is told."""

from __future__ import annotations

import copy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, field_validator

from chapters.ch02.registry import Arguments, Registry, define_tool
from chapters.ch05.validation import (
    COERCING,
    STRICT,
    ValidationPolicy,
    coercing,
    json_schema_tool,
    with_policy,
)
from shared.errors import ToolError
from shared.messages import ToolCall, ToolResult, ToolSpec
from shared.tools import Effect, Tool, call_handler

Schema = dict[str, Any]
BOTH = pytest.mark.parametrize("policy", [STRICT, COERCING], ids=lambda policy: policy.name)


async def echo(arguments: Any) -> str:
    """What the handler got."""
    return repr(arguments)


def bare(schema: Schema, policy: ValidationPolicy = COERCING) -> Tool:
    """A tool that has a JSON Schema and nothing else."""
    return json_schema_tool(ToolSpec("t", "A tool.", schema), Effect.READ, echo, policy)


def refusal(tool: Tool, arguments: Any) -> str:
    """Why `arguments` are refused."""
    with pytest.raises(ToolError) as caught:
        tool.validate(arguments)
    assert caught.value.code == "invalid_arguments"
    return caught.value.message


def problems(schema: Schema, arguments: Any, policy: ValidationPolicy = COERCING) -> list[str]:
    """The lines about what is wrong."""
    head, *lines = refusal(bare(schema, policy), arguments).split("\n\nReceived")[0].split("\n")
    assert head == 'Validation failed for tool "t":'
    assert all(line.startswith("  - ") for line in lines)
    return [line[4:] for line in lines]


LIMIT = {"type": "object", "properties": {"limit": {"type": "integer"}}}


class Search(Arguments):
    """A tool with a class: chapter 2's form."""

    text: str
    limit: int = 20
    kinds: list[int] = Field(default=[])
    note: str | None = None

    @field_validator("text")
    @classmethod
    def _not_blank(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("say what to look for")
        return text


SEARCH = define_tool("search", "Search.", Effect.READ, Search, echo)


# -- two policies


def test_a_number_in_a_text_is_taken_by_one_policy_only() -> None:
    assert bare(LIMIT, COERCING).validate({"limit": "10"}) == {"limit": 10}
    assert refusal(bare(LIMIT, STRICT), {"limit": "10"}) == (
        'Validation failed for tool "t":\n'
        "  - limit: must be integer\n"
        "\n"
        "Received arguments:\n"
        "{\n"
        '  "limit": "10"\n'
        "}"
    )


def test_a_tool_with_a_class_can_be_given_the_other_policy() -> None:
    sent = {"text": "x", "limit": "10", "kinds": ["1", 2.0], "note": None}
    assert coercing(SEARCH).validate(sent) == Search(text="x", limit=10, kinds=[1, 2])
    refused = refusal(with_policy(SEARCH, STRICT), sent)
    assert "  - limit: must be integer\n  - kinds.0: must be integer\n" in refused


def test_chapter_2s_tools_stay_strict_and_word_their_problems_as_before() -> None:
    before = refusal(SEARCH, {"text": "x", "limit": "10"})
    coercing(SEARCH)
    assert refusal(SEARCH, {"text": "x", "limit": "10"}) == before
    assert before == "limit: Input should be a valid integer."


def test_only_the_check_of_a_tool_is_exchanged() -> None:
    tool = coercing(SEARCH)
    assert (tool.spec, tool.effect, tool.handler) == (SEARCH.spec, SEARCH.effect, SEARCH.handler)


def test_null_for_a_field_with_a_default_is_the_default() -> None:
    sent = {"text": "x", "limit": None, "note": None}
    assert coercing(SEARCH).validate(sent) == Search(text="x", limit=20, note=None)


def test_what_only_the_class_can_check_is_told_in_its_words() -> None:
    assert "\n  - text: Value error, say what to look for.\n" in refusal(
        coercing(SEARCH), {"text": " "}
    )


@BOTH
def test_what_was_sent_is_never_changed(policy: ValidationPolicy) -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"type": "number"}}}}
    sent: dict[str, Any] = {"a": [1, 2], "other": [{"deep": []}]}
    given_to_handler = bare(schema, policy).validate(sent)
    given_to_handler["other"][0]["deep"].append("x")
    given_to_handler["a"].append(3)
    assert sent == {"a": [1, 2], "other": [{"deep": []}]}


@pytest.mark.anyio
async def test_in_a_registry_a_refusal_is_a_result_and_nothing_has_run() -> None:
    ran: list[Any] = []

    async def write(arguments: Any) -> str:
        ran.append(arguments)
        return "done"

    spec = ToolSpec("t", "A tool.", {**LIMIT, "required": ["limit", "path"]})
    registry = Registry((json_schema_tool(spec, Effect.WRITE, write, COERCING),), call_handler)
    results: list[ToolResult] = []
    calls = [
        ToolCall("c1", "t", '{"limit": "ten"}'),
        ToolCall("c2", "t", '{"limit": "10", "path": "a"}'),
    ]
    await registry.run(calls, results.append, lambda _: None)
    assert ran == [{"limit": 10, "path": "a"}]
    assert [result.code for result in results] == ["invalid_arguments", None]
    assert results[0].text.startswith(
        'Error [invalid_arguments]: Validation failed for tool "t":\n'
        "  - path: must have required properties path\n"
        "  - limit: must be integer\n"
    )
    assert calls[1].arguments == '{"limit": "10", "path": "a"}'


# -- every problem, in words


EDITS = {
    "type": "object",
    "properties": {
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"old": {"type": "string"}, "new": {"type": "string"}},
                "required": ["old", "new"],
            },
        }
    },
}


@pytest.mark.parametrize(
    ("schema", "sent", "told"),
    [
        ({"type": "number"}, "x", "must be number"),
        ({"type": ["number", "null"]}, "x", "must be number or null"),
        ({"enum": [1, 2]}, 3, "must be equal to one of the allowed values"),
        ({"const": 1}, 2, "must be equal to constant"),
        ({"pattern": "^a"}, "b", 'must match pattern "^a"'),
        ({"format": "ipv4"}, "b", 'must match format "ipv4"'),
        ({"minimum": 1}, 0, "must be >= 1"),
        ({"maximum": 3}, 4, "must be <= 3"),
        ({"exclusiveMinimum": 1}, 1, "must be > 1"),
        ({"exclusiveMaximum": 3}, 3, "must be < 3"),
        ({"multipleOf": 2}, 3, "must be multiple of 2"),
        ({"minLength": 2}, "a", "must not have fewer than 2 characters"),
        ({"maxLength": 2}, "abc", "must not have more than 2 characters"),
        ({"minItems": 1}, [], "must not have fewer than 1 items"),
        ({"maxItems": 1}, [1, 2], "must not have more than 1 items"),
        ({"minProperties": 1}, {}, "must not have fewer than 1 properties"),
        ({"maxProperties": 0}, {"a": 1}, "must not have more than 0 properties"),
        ({"uniqueItems": True}, [1, 1], "must not have duplicate items"),
        ({"additionalProperties": False}, {"b": 1}, "must not have additional properties"),
        ({"unevaluatedProperties": False}, {"b": 1}, "must not have unevaluated properties"),
        ({"not": {"type": "string"}}, "x", "must not be valid"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "'b' is a dependency of 'a'"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_each_kind_of_problem_has_its_words(schema: Any, sent: Any, told: str) -> None:
    assert problems({"properties": {"v": schema}}, {"v": sent}) == [f"v: {told}"]


@pytest.mark.parametrize(
    ("schema", "sent", "told", "reason"),
    [
        (
            {
                "properties": {"a": {"type": "number"}, "b": {"type": "boolean"}, "c": {}},
                "required": ["a", "c", "d"],
            },
            {"b": "maybe", "a": "x"},
            [
                "c: must have required properties c, d",
                "a: must be number",
                "b: must be boolean",
            ],
            "first what is missing, then in the order of the schema",
        ),
        (
            EDITS,
            {"edits": [{"old": 1, "new": []}, {}]},
            [
                "edits.0.new: must be string",
                "edits.1.old: must have required properties old, new",
            ],
            "with the place in a list",
        ),
        (EDITS, {"edits": [[]]}, ["edits.0: must be object"], "a list is no object"),
        (
            {"properties": {"v": {"anyOf": [{"type": "number"}, {"type": "null"}]}}},
            {"v": "x"},
            ["v: must be number", "v: must be null", "v: must match a schema in anyOf"],
            "each branch of a union, and the union",
        ),
        (
            {"properties": {"v": {"oneOf": [{"type": "number"}, {"minimum": 0}]}}},
            {"v": 1},
            ["v: must match exactly one schema in oneOf"],
            "two branches where one is wanted",
        ),
        (
            {"additionalProperties": False, "required": ["a"], "properties": {"a": {}}},
            {"b": 1, "c": 1},
            ["a: must have required properties a", "root: must not have additional properties"],
            "an object's own problems are at the object",
        ),
        (
            {"properties": {"n": {"type": "number", "maximum": 3}}},
            {"n": "9"},
            ["n: must be <= 3"],
            "bounds are those of the converted value",
        ),
        (
            {"properties": {"a": {"type": "number"}, "required": {"type": "number"}}},
            {"required": "x", "a": "x"},
            ["a: must be number", "required: must be number"],
            "a property may be called like a keyword",
        ),
        (
            {"required": ["a"], "allOf": [{"required": ["b"]}]},
            {},
            ["a: must have required properties a", "b: must have required properties b"],
            "two lists of what is required",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_all_problems_are_told(schema: Schema, sent: Any, told: list[str], reason: str) -> None:
    assert problems(schema, sent) == told, reason


def test_strict_tells_the_same_of_what_it_does_not_convert() -> None:
    assert problems(EDITS, {"edits": [{"old": 1}]}, STRICT) == [
        "edits.0.new: must have required properties new",
        "edits.0.old: must be string",
    ]


def test_a_bool_is_no_integer() -> None:
    assert problems(LIMIT, {"limit": True}, STRICT) == ["limit: must be integer"]


def test_what_was_received_is_shown_as_it_was_and_in_its_own_script() -> None:
    message = refusal(bare(LIMIT), {"limit": "zehn", "größe": "５"})
    assert message.endswith('{\n  "limit": "zehn",\n  "größe": "５"\n}')


def test_long_arguments_are_cut_and_the_cut_is_told() -> None:
    message = refusal(bare(LIMIT), {"limit": "x" * 5_000})
    assert message.endswith("xxx\n[Showing the first 2,000 of 5,017 characters.]")
    assert len(message) < 2_200


def test_many_problems_are_cut_and_the_cut_is_told() -> None:
    schema = {"properties": {"v": {"items": {"type": "number"}}}}
    told = problems(schema, {"v": ["x"] * 1_000})
    assert len(told) == 21
    assert told[-2:] == ["v.19: must be number", "and 980 more"]


def test_a_name_that_the_model_chose_cannot_pass_for_a_line_of_ours() -> None:
    schema = {"additionalProperties": {"type": "number"}}
    (told,) = problems(schema, {"a\n  - path: must be number" + "x" * 500: "x"})
    assert "\n" not in told
    assert len(told) < 150


@pytest.mark.parametrize("depth", [100, 250, 400, 900])
def test_arguments_that_are_nested_too_deeply_are_refused(depth: int) -> None:
    value: Any = "x"
    for _ in range(depth):
        value = {"c": value}
    schema = {"$defs": {"n": {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}}}}
    message = refusal(bare({**schema, "$ref": "#/$defs/n"}), value)
    assert message.startswith('Validation failed for tool "t":')


# -- schemas that somebody else wrote


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "objekt"}, r"\$\.type: 'objekt'"),
        ({"properties": {"a": {"pattern": "("}}}, r"\$\.properties\.a\.pattern"),
        ({"properties": {"a": {"$ref": "https://example.com/x"}}}, "is not part of it"),
        ({"properties": {"a": {"$ref": "#/$defs/x"}}}, "does not have"),
        ({"allOf": [{"$ref": "#"}]}, "refers to itself"),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused_at_once(schema: Schema, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        bare(schema)


def test_no_schema_makes_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *_: pytest.fail("a request"))
    with pytest.raises(ValueError, match="is not part of it"):
        bare({"$ref": "http://127.0.0.1:9/schema.json"})


@pytest.mark.parametrize(
    "schema",
    [
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {}},
        {"$schema": "http://127.0.0.1:9/unknown"},
        {"properties": {"pair": {"items": [{"type": "number"}]}}},
    ],
    ids=["an older draft", "an unknown draft", "an older draft that does not say so"],
)
def test_a_schema_of_another_draft_is_taken(schema: Schema) -> None:
    schema = {**schema, "type": "object", "additionalProperties": {"type": "array"}}
    assert problems(schema, {"x": 1}) == ["x: must be array"]


def test_the_schema_is_sent_as_it_was_written() -> None:
    schema = {"properties": {"a": {}}, "required": ["a"], "type": "object"}
    assert list(bare(schema).spec.parameters) == ["properties", "required", "type"]


def test_the_library_is_loaded_by_the_first_schema_and_not_before() -> None:
    program = (
        "import sys, chapters.ch05.validation as v\n"
        "assert 'jsonschema' not in sys.modules\n"
        "from chapters.ch05.tests.test_validation import SEARCH\n"
        "v.coercing(SEARCH).validate({'text': 'x', 'limit': '5'})\n"
        "assert 'jsonschema' not in sys.modules\n"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# -- for whatever is sent

SENT = st.dictionaries(
    st.sampled_from(["text", "limit", "kinds", "note", "more"]),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text("1.e x"),
        st.lists,
        max_leaves=4,
    ),
)


@BOTH
@given(sent=SENT)
def test_what_is_sent_is_taken_whole_or_refused_with_its_problems(
    policy: ValidationPolicy, sent: dict[str, Any]
) -> None:
    tool = with_policy(SEARCH, policy)
    before = copy.deepcopy(sent)
    try:
        taken = tool.validate(sent)
    except ToolError:
        assert refusal(tool, sent).startswith('Validation failed for tool "search":\n  - ')
    else:
        assert SEARCH.validate(taken.model_dump()) == taken
    assert repr(sent) == repr(before)


@given(sent=SENT)
def test_what_strict_takes_coercing_takes_as_it_is(sent: dict[str, Any]) -> None:
    try:
        taken = SEARCH.validate(sent)
    except ToolError:
        return
    assert coercing(SEARCH).validate(sent) == taken


# How long it may take.

TWICE = {
    "anyOf": [
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["c"]},
        {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}, "d": {}}, "required": ["c"]},
        {"type": "integer"},
    ]
}
ALL = {"allOf": [{"properties": {"c": {"$ref": "#/$defs/n"}}}] * 2}


def deep(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"c": value}
    return {"v": value}


@BOTH
@pytest.mark.parametrize("draft", [{}, {"$schema": "http://json-schema.org/draft-07/schema#"}])
@pytest.mark.parametrize("part", [TWICE, ALL], ids=["anyOf", "allOf"])
def test_a_check_that_doubles_with_each_level_is_given_up(
    policy: ValidationPolicy, draft: Schema, part: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chapters.ch05.schema_check.MAX_STEPS", 5_000)
    schema = {**draft, "properties": {"v": {"$ref": "#/$defs/n"}}, "$defs": {"n": part}}
    tool = bare(schema, policy)
    assert "too complex to check" in refusal(tool, deep(40))
    # The next check starts at the beginning.
    assert tool.validate({"v": {"c": 1}} if part is TWICE else deep(2))


@BOTH
@pytest.mark.parametrize(
    ("part", "small", "large"),
    [
        ({"pattern": "b$"}, "a" * 9_000 + "b", "a" * 11_000 + "b"),
        ({"uniqueItems": True}, [[n] for n in range(300)], [[n] for n in range(1_001)]),
        ({"patternProperties": {"b$": {}}}, {"b": 1}, {"b" * 11_000: 1}),
    ],
    ids=["pattern", "uniqueItems", "patternProperties"],
)
def test_what_takes_long_is_done_to_so_much_and_no_more(
    policy: ValidationPolicy, part: Schema, small: Any, large: Any
) -> None:
    tool = bare({"properties": {"v": part}}, policy)
    assert tool.validate({"v": small}) == {"v": small}
    assert "too complex to check" in refusal(tool, {"v": large})


def test_many_texts_may_be_said_to_be_unique() -> None:
    tool = bare({"properties": {"v": {"uniqueItems": True}}})
    texts = [str(number) for number in range(5_000)]
    assert tool.validate({"v": texts})
    assert "duplicate" in refusal(tool, {"v": [*texts, "7"]})
