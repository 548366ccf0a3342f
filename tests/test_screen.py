"""The screen: it fits, it folds, it can do without colours, and no character ends a run."""

from __future__ import annotations

import io

import pytest

from shared.screen import Screen, Style, fold


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_colours_only_on_a_terminal() -> None:
    assert not Screen(io.StringIO(), {"TERM": "xterm"}).colours
    assert Screen(Terminal(), {"TERM": "xterm"}).colours


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(environ: dict[str, str]) -> None:
    out = Terminal()
    Screen(out, environ).line("bad", Style.BAD)
    assert out.getvalue() == "bad\n"


def test_colours_and_movement_are_two_things() -> None:
    assert Screen(Terminal(), {"NO_COLOR": "1", "TERM": "xterm"}).moves
    assert not Screen(Terminal(), {"TERM": "dumb"}).moves
    assert not Screen(io.StringIO(), {"TERM": "xterm"}).moves


def test_an_empty_no_color_forbids_nothing() -> None:
    assert Screen(Terminal(), {"NO_COLOR": "", "TERM": "xterm"}).colours


def test_a_character_the_stream_cannot_show_is_spelled_out() -> None:
    raw = io.BytesIO()
    screen = Screen(io.TextIOWrapper(raw, encoding="ascii"), {})
    screen.line("你好 ─ \ud800")
    screen.rule("turn 1")
    assert raw.getvalue().startswith(b"\\u4f60\\u597d \\u2500 \\ud800\n-- turn 1 -----")


@pytest.mark.parametrize(
    ("columns", "width"), [("60", 60), ("10", 40), ("500", 100), ("x", 80), ("", 80), ("0", 80)]
)
def test_the_width_is_that_of_the_terminal_within_reason(columns: str, width: int) -> None:
    assert Screen(io.StringIO(), {"COLUMNS": columns}).width == width


def test_a_rule_is_as_wide_as_the_screen() -> None:
    out = io.StringIO()
    Screen(out, {"COLUMNS": "50"}).rule("turn 1")
    assert len(out.getvalue().rstrip("\n")) == 50


def test_a_label_stays_left_of_its_text() -> None:
    out = io.StringIO()
    Screen(out, {"COLUMNS": "40"}).labelled("result", "one\n\n" + "word " * 9)
    assert out.getvalue().splitlines() == [
        "result  one",
        "",
        "        word word word word word word",
        "        word word word",
    ]


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 10, [""]),
        ("short", 10, ["short"]),
        ("exactly 10", 10, ["exactly 10"]),
        ("one two three", 8, ["one two", "three"]),
        ("x" * 25, 10, ["x" * 10, "x" * 10, "x" * 5]),
        ("ab " + "x" * 12, 10, ["ab", "x" * 10, "xx"]),
        ("  if a and b and c:", 12, ["  if a and b", "  and c:"]),
        ("a\tb", 10, ["a   b"]),
        ("你好你好", 4, ["你好", "你好"]),
        ("a\n\nb", 10, ["a", "", "b"]),
        (" " * 30, 10, ["     "]),
    ],
)
def test_folding(text: str, width: int, lines: list[str]) -> None:
    assert list(fold(text, width)) == lines


@pytest.mark.parametrize("width", [1, 2, 7, 40])
def test_folding_loses_no_letter(width: int) -> None:
    text = "the quick  brown fox\n  jumped overthelazydogandranaway\n\n你好 again"
    folded = "".join(fold(text, width))
    assert folded.replace(" ", "") == text.replace(" ", "").replace("\n", "")
