"""Half-written arguments can be shown at any time, at a price that is fair, and are never run."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapters.ch01.dispatch import OneTool
from chapters.ch05 import preview as module
from chapters.ch05.json_repair import repaired
from chapters.ch05.preview import Preview, partial_value
from shared.messages import ToolCall, ToolResult, ToolSpec
from shared.tools import Effect, Tool, call_handler

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(), VALUES)


def shown(*pieces: str) -> dict[str, Any]:
    """What is shown when these pieces have arrived."""
    preview = Preview()
    for piece in pieces:
        preview.feed(piece)
    return preview.whole()


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        ("", {}, "nothing has come yet"),
        ("  \n\t", {}, "only blanks have come"),
        ("{", {}, "an object has begun"),
        ('{"path"', {}, "a name without a value says nothing"),
        ('{"path": "src/ma', {"path": "src/ma"}, "half a text can be read"),
        ('{"path": "a", "lines": [1, 2', {"path": "a", "lines": [1, 2]}, "half a list too"),
        ('{"a": [{"b": 1}, {"b"', {"a": [{"b": 1}, {}]}, "objects in lists"),
        ('{"a": tru', {}, "half a literal is no value"),
        ('{"a": -', {}, "a sign is no number"),
        ('{"a": "x\\', {"a": "x"}, "an escape that is on its way is not shown"),
        ('{"a": "x\\u00', {"a": "x"}, "nor one with digits"),
        ('{"a": "x\\ud83d', {"a": "x"}, "nor half a character"),
        ('{"a": "x\\ud83d\\ude', {"a": "x"}, "nor three quarters of it"),
        ('{"a": "x\ny', {"a": "x\ny"}, "a raw line break in an unfinished text"),
        ('{"a": "x\ny", "b": "z', {"a": "x\ny", "b": "z"}, "and in a finished one"),
        ('{"a": "C:\\dir\\q"}', {"a": "C:\\dir\\q"}, "a backslash that escapes nothing"),
        ('{"a": "C:\\users\\new', {"a": "C:\\users\new"}, "what is an escape is read as one"),
        ('{"a": "\\ud83d"}', {"a": "\ufffd"}, "half a character that stays half"),
        ('{"a": "\\ude00x', {"a": "\ufffdx"}, "the second half alone"),
        ('{"a": "\ud83d"}', {"a": "\ufffd"}, "half a character that came raw"),
        ('{"a": 1} x', {"a": 1}, "text after the object"),
        ('{"a": 1]', {"a": 1}, "the wrong bracket"),
        ('{"a": "b"c"}', {"a": "b"}, "a quotation mark that was not escaped"),
        ('{"a": 1,}', {"a": 1}, "a comma too many"),
        ('{"a": 1, "b": x, "c": 2', {"a": 1}, "a value without quotation marks"),
        ('{"a": "x\ny", "b": x', {"a": "x\ny"}, "two mistakes"),
        ("{'a': 1}", {}, "single quotes"),
        ("```json\n{", {}, "a fence around it"),
        ("\ufeff{", {}, "a byte order mark"),
        ('\ufeff{"a": 1', {"a": 1}, "a byte order mark, and then arguments"),
        ('{"a":' * 300, {}, "too deep for the parser"),
        ('{"a":' + "[" * 100_000, {}, "much too deep"),
        ("[1, 2", {}, "a list is no arguments"),
        ("null", {}, "nor is null"),
        ("12", {}, "nor is a number"),
        ('"abc', {}, "nor is a text"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_what_is_shown(text: str, value: dict[str, Any], reason: str) -> None:
    assert shown(text) == value, reason


@given(st.text() | st.text('{}[]":,\\u0d8 \n1e-tN'))
def test_no_text_is_too_broken_to_be_looked_at(text: str) -> None:
    assert isinstance(shown(text), dict)


@given(OBJECTS, st.booleans(), st.data())
def test_pieces_make_the_same_value_wherever_they_are_cut(
    value: dict[str, Any], ascii_only: bool, data: st.DataObject
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)))))
    preview = Preview()
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        preview.feed(text[start:end])
        assert set(preview.so_far()) <= set(value)
    assert preview.whole() == value


def test_a_text_grows_and_nothing_that_was_shown_of_it_is_taken_back() -> None:
    content = 'line 1\n\t"quoted" \\ 😀 é\n' * 3
    text = json.dumps({"path": "a.py", "content": content})
    seen = [shown(text[:end]).get("content", "") for end in range(len(text) + 1)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(seen))
    assert seen[-1] == content


def test_a_broken_text_that_is_being_written_is_shown_as_well_as_a_sound_one() -> None:
    content = 'line 1\n\t"quoted" text\n'
    text = json.dumps({"content": content}).replace("\\n", "\n").replace("\\t", "\t")
    seen = [shown(text[:end]).get("content", "") for end in range(len(text) + 1)]
    assert len(set(seen)) == len(content) + 1
    assert seen[-1] == content


# -- the price


@pytest.mark.parametrize("size", [1_000, 10_000, 100_000])
def test_all_parses_together_read_a_text_about_eleven_times(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted in characters, not in seconds: parsing at each piece would read it size/8 times."""
    read: list[int] = []

    def counted(text: str) -> Any:
        read.append(len(text))
        return partial_value(text)

    monkeypatch.setattr(module, "partial_value", counted)
    preview = Preview()
    text = json.dumps({"content": "x" * size})
    for start in range(0, len(text), 4):
        preview.feed(text[start : start + 4])
        preview.so_far()
    assert sum(read) < 12 * len(text)
    assert len(preview.whole()["content"]) == size


def test_what_is_shown_is_late_by_a_tenth_at_most() -> None:
    preview = Preview()
    text = json.dumps({"content": "x" * 5_000})
    for start in range(0, len(text), 4):
        preview.feed(text[start : start + 4])
        arrived = max(0, start + 4 - len('{"content": "'))
        assert len(preview.so_far().get("content", "")) >= arrived / 1.1 - 16


def test_nobody_who_does_not_look_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "partial_value", None)
    preview = Preview()
    for _ in range(1_000):
        preview.feed("xxxx")


def test_the_end_is_parsed_once_however_often_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    preview = Preview()
    preview.feed('{"a": 1}')
    assert preview.whole() == preview.so_far() == {"a": 1}
    monkeypatch.setattr(module, "partial_value", None)
    assert preview.whole() == {"a": 1}


# -- the repair


@pytest.mark.parametrize(
    ("text", "wanted", "reason"),
    [
        ('{"a":"x\ny"}', '{"a":"x\\ny"}', "a line break"),
        ('{"a":"\x01\x1f\b"}', '{"a":"\\u0001\\u001f\\b"}', "control characters"),
        ('{"a":"C:\\dir"}', '{"a":"C:\\\\dir"}', "no escape"),
        ('{"a":"\\u12"}', '{"a":"\\\\u12"}', "no escape either, for want of digits"),
        ('{"a":"\\n\\\\\\"\\u00e9"}', '{"a":"\\n\\\\\\"\\u00e9"}', "escapes stay"),
        ('{"a":"\\ud83d\\ude00"}', '{"a":"\\ud83d\\ude00"}', "both halves of a character stay"),
        ('{"a":"\\ud83d\\u0041"}', '{"a":"\\ufffd\\u0041"}', "one half does not"),
        ('{"a":"\ud83d\udc00"}', '{"a":"\\ufffd\\ufffd"}', "a raw half is half a character too"),
        ('{"a":"x\\', '{"a":"x\\', "what is on its way is left"),
        ('{\n"a":\t1}', '{\n"a":\t1}', "between strings, blanks are allowed"),
        ("{a:'x\n'}", "{a:'x\n'}", "what is no string is left"),
    ],
)
def test_repair(text: str, wanted: str, reason: str) -> None:
    assert repaired(text) == wanted, reason


@given(VALUES, st.booleans())
def test_json_is_not_repaired(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert repaired(text) == text


# -- and never run


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('{"path": "a.py", "content": "x\ny"}', {"path": "a.py", "content": "x\ny"}),
        ('{"path": "C:\\dir", "content": ""}', {"path": "C:\\dir", "content": ""}),
        ('{"path": "/"', {"path": "/"}),
        ('{"path": "/"}]', {"path": "/"}),
    ],
)
async def test_a_preview_makes_no_call_run(text: str, seen: dict[str, Any]) -> None:
    written: list[Any] = []

    async def write(arguments: Any) -> str:
        written.append(arguments)
        return "written"

    tool = Tool(ToolSpec("write", "Write.", {"type": "object"}), Effect.WRITE, dict, write)
    results: list[ToolResult] = []
    call = ToolCall("c1", "write", text)
    assert shown(text) == seen
    await OneTool((tool,), call_handler).run([call], results.append, lambda _: None)
    assert written == []
    assert [result.code for result in results] == ["invalid_json"]
