"""What a person types as a reply: which lines are calls, and what stays exactly as it was typed."""

from __future__ import annotations

from itertools import count

import pytest

from labs.typed_reply import (
    example_call,
    forgotten_braces,
    is_unfinished_call,
    parse_reply,
)
from shared.messages import StopReason, Text, ToolCall, ToolSpec


def parts(typed: str) -> list[str | tuple[str, str]]:
    """The content of the reply: text as it is, a call as name and arguments."""
    numbers = count(1)
    reply = parse_reply(typed.split("\n"), lambda: f"id{next(numbers)}")
    return [
        part.text if isinstance(part, Text) else (part.name, part.arguments)
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
    ],
)
def test_it_is_known_when_a_call_goes_on(lines: list[str], unfinished: bool) -> None:
    assert is_unfinished_call(lines) is unfinished


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
