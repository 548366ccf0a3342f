"""What a person types as a reply: which lines are calls, and what stays exactly as it was typed."""

from __future__ import annotations

import json
import time
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labs.typed_reply import (
    Draft,
    example_call,
    forgotten_braces,
    parse_reply,
)
from shared.messages import StopReason, ToolCall, ToolSpec


def parts(typed: str) -> list[str | tuple[str, str]]:
    """The content of the reply: text as it is, a call as name and arguments."""
    numbers = count(1)
    reply = parse_reply(typed.split("\n"), lambda: f"id{next(numbers)}")
    return [
        (part.name, part.arguments) if isinstance(part, ToolCall) else part.text
        for part in reply.content
    ]


@pytest.mark.parametrize(
    ("typed", "content"),
    [
        ("hello", ["hello"]),
        ("two\nlines", ["two\nlines"]),
        ('glob {"pattern": "*"}', [("glob", '{"pattern": "*"}')]),
        ('glob{"pattern":"*"}', [("glob", '{"pattern":"*"}')]),
        ("a {}\nb {}", [("a", "{}"), ("b", "{}")]),
        ('I look.\na {"x": 1}\nSo.', ["I look.", ("a", '{"x": 1}'), "So."]),
        ('w {"p": "a",\n  "c": "b"\n}\nr {}', [("w", '{"p": "a",\n  "c": "b"\n}'), ("r", "{}")]),
        ("no_such_tool {}", [("no_such_tool", "{}")]),
        # Broken on purpose, and sent as it is: what comes back is what a model would read.
        ("a {'x': 1}\nThen text.", [("a", "{'x': 1}"), "Then text."]),
        ('a {"x": 1} and more', [("a", '{"x": 1} and more')]),
        ('a {"x": {"y": 1}\nb {}', [("a", '{"x": {"y": 1}'), ("b", "{}")]),
        ("a {\n1,\n}", [("a", "{\n1,\n}")]),
        ("a {\n1,\n}\nThen text.", [("a", "{\n1,\n}"), "Then text."]),
        ('a {"x": "one\ntwo"}\nSo.', [("a", '{"x": "one\ntwo"}'), "So."]),
        # Not calls.
        (' glob {"pattern": "*"}', [' glob {"pattern": "*"}']),
        ("read_file README.md", ["read_file README.md"]),
        ("a sentence {with braces}", ["a sentence {with braces}"]),
        ("{}", ["{}"]),
    ],
)
def test_lines_become_text_and_calls(typed: str, content: list[object]) -> None:
    assert parts(typed) == content


def test_a_reply_with_a_call_stops_for_tool_use_and_any_other_ends_the_turn() -> None:
    assert parse_reply(["a {}"], lambda: "id").stop is StopReason.TOOL_USE
    assert parse_reply(["a"], lambda: "id").stop is StopReason.END_TURN


def test_each_call_gets_an_id_of_its_own() -> None:
    numbers = count(1)
    reply = parse_reply(["a {}", "text", "b {}"], lambda: f"call_{next(numbers)}")
    assert reply.calls == (ToolCall("call_1", "a", "{}"), ToolCall("call_2", "b", "{}"))


@pytest.mark.parametrize(
    ("lines", "unfinished"),
    [
        ([], False),
        (["text"], False),
        (["a {}"], False),
        (['a {"x":'], True),
        (['a {"x":', "1}"], False),
        (["a {'x': 1}"], False),
        (['a {"x": 1} more'], False),
        (['a {"x": 1} {'], False),
        (["a {}", "some text {"], False),
        # Braces in strings do not count, and quotes can be part of a string.
        (['a {"x": "}",'], True),
        (['a {"x": "}",', '"y": 1}'], False),
        (['a {"x": "{"}'], False),
        (['a {"x": "\\"{", "y": {', '"z": "\\\\"}'], True),
        (['a {"x": "\\"{", "y": {', '"z": "\\\\"}}'], False),
        # No line of JSON ends inside a string. Then all braces count.
        (['a {"x": "one'], True),
        (['a {"x": "one', 'two"}'], False),
        (['a {"x": "one\\'], True),
        (['a {"x: 1}'], False),
        # Another call begins.
        (['a {"x":', "b {}"], False),
    ],
)
def test_it_is_known_when_a_call_goes_on(lines: list[str], unfinished: bool) -> None:
    draft = Draft()
    for line in lines:
        draft.add(line)
    assert draft.in_call is unfinished


def test_a_line_that_is_taken_back_was_never_there() -> None:
    draft = Draft()
    draft.add('a {"x":')
    draft.add("1}")
    assert not draft.in_call
    assert draft.take_back() == "1}"
    assert draft.in_call
    assert draft.take_back() == 'a {"x":'
    assert not draft.in_call
    assert draft.lines == []


json_values = st.recursive(
    st.none() | st.integers() | st.text('{}"\\\n ab'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('{}" '), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.text("{}ab"), json_values), st.integers(0, 2))
def test_json_in_any_layout_is_one_call_and_what_follows_is_none_of_it(
    arguments: dict[str, object], indent: int
) -> None:
    typed = json.dumps(arguments, indent=indent or None)
    assert parts(f"a {typed}\nSo: {{") == [("a", typed), "So: {"]


@pytest.mark.parametrize("last", ["]}", "]"])
def test_a_long_call_is_read_once(last: str) -> None:
    lines = ['a {"x": [', *['  {"text": "a line of a table", "and": "another"},'] * 6000, "1", last]
    draft = Draft()
    start = time.process_time()
    for line in lines:
        draft.add(line)
    assert draft.in_call is (last == "]")
    assert parts("\n".join(lines))
    assert time.process_time() - start < 2  # it takes a twentieth of that; quadratic, ten times


@pytest.mark.parametrize(
    ("line", "tool"),
    [
        ("read_file README.md", "read_file"),
        ("read_file", "read_file"),
        ("read_file: README.md", "read_file"),
        ("read_file {}", None),
        (" read_file README.md", None),
        ("read_files", None),
        ("I would read_file it", None),
        ("", None),
    ],
)
def test_a_call_without_json_is_noticed(line: str, tool: str | None) -> None:
    assert forgotten_braces(line, {"read_file", "glob"}) == tool


def test_the_example_of_a_tool_holds_what_it_requires() -> None:
    schema = {
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "more": {}},
        "required": ["path", "limit"],
    }
    assert example_call(ToolSpec("t", "…", schema)) == 't {"path": "…", "limit": 1}'
    assert example_call(ToolSpec("t", "…", {})) == "t {}"
