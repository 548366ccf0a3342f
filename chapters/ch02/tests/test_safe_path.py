"""Check 1: which texts are paths, told without looking at the disk."""

from __future__ import annotations

import os.path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chapters.ch02.safe_path import is_usable, parse_path, parse_pattern
from shared.errors import ToolError

ACCEPTED = [
    ("a.txt", ("a.txt",)),
    ("src/main.py", ("src", "main.py")),
    (".", ()),
    ("./a.txt", ("a.txt",)),
    ("d//a.txt", ("d", "a.txt")),
    ("d/./a.txt", ("d", "a.txt")),
    (".hidden", (".hidden",)),
    ("a~b", ("a~b",)),
    ("x/~", ("x", "~")),
    ("x..y", ("x..y",)),
    ("%2e%2e/x", ("%2e%2e", "x")),
    ("$HOME/x", ("$HOME", "x")),
    ("{..,a}", ("{..,a}",)),
    ("你好/说明：一.txt", ("你好", "说明：一.txt")),
    ("…/x", ("…", "x")),
    ("مي\u200cخواهم.txt", ("مي\u200cخواهم.txt",)),
    ("👨\u200d👩\u200d👧.txt", ("👨\u200d👩\u200d👧.txt",)),
    ("❤\ufe0f.txt", ("❤\ufe0f.txt",)),
    ("葛\U000e0100.txt", ("葛\U000e0100.txt",)),
    ("한글.txt", ("한글.txt",)),
    ("🏴\U000e0067\U000e0062\U000e007f.txt", ("🏴\U000e0067\U000e0062\U000e007f.txt",)),
    ("console.log", ("console.log",)),
    ("null", ("null",)),
    ("COM", ("COM",)),
    ("x.con", ("x.con",)),
    ("n" * 255, ("n" * 255,)),
    ("d/" * 63 + "x", ("d",) * 63 + ("x",)),
]

REFUSED = [
    # 1. not text
    (None, "invalid_path"),
    (7, "invalid_path"),
    (["a"], "invalid_path"),
    ("", "invalid_path"),
    ("a\udcff", "invalid_path"),
    # 2. what cannot be seen
    ("a\0b", "invalid_path"),
    ("a\nb", "invalid_path"),
    ("a\x7fb", "invalid_path"),
    ("a\x85b", "invalid_path"),
    ("a\u202eb", "invalid_path"),
    ("a\u200bb", "invalid_path"),
    ("\ufeffa", "invalid_path"),
    # 3. absolute
    ("/etc/passwd", "path_escape"),
    ("//server/share", "path_escape"),
    ("\\x", "path_escape"),
    ("\\\\?\\C:\\x", "path_escape"),
    ("C:\\x", "path_escape"),
    ("c:x", "path_escape"),
    # 4. upwards
    ("..", "path_escape"),
    ("a/..", "path_escape"),
    ("a/../b", "path_escape"),
    ("a\\..\\b", "path_escape"),
    # 5. other spellings
    ("a\\b", "invalid_path"),
    ("~/x", "invalid_path"),
    ("~root", "invalid_path"),
    # 6. length and ending
    ("n" * 256, "path_too_long"),
    ("文" * 86, "path_too_long"),
    ("d/" * 64 + "x", "path_too_long"),
    (("p" * 200 + "/") * 5 + "p" * 20, "path_too_long"),
    ("a/", "invalid_path"),
    ("a/.", "invalid_path"),
    # 7. names that not every system can hold
    ("ab:c", "invalid_path"),
    ("a*", "invalid_path"),
    ("what?", "invalid_path"),
    ('a"b', "invalid_path"),
    ("a|b", "invalid_path"),
    ("a./b", "invalid_path"),
    ("a /b", "invalid_path"),
    ("...", "invalid_path"),
    ("nul", "invalid_path"),
    ("d/CON.log", "invalid_path"),
    ("NUL .txt", "invalid_path"),
    ("COM0", "invalid_path"),
    ("COM\u00b9", "invalid_path"),
    ("lpt\u00b3.txt", "invalid_path"),
    ("\uff23\uff2f\uff2e", "invalid_path"),
    ("conin$", "invalid_path"),
]

FIRST_RULE_WINS = [
    ("/a\0", "invalid_path"),  # 2 before 3
    ("C:/../x", "path_escape"),
    ("..\\nul", "path_escape"),  # 4 before 5 and 7
    ("~/../x", "path_escape"),  # 4 before 5
    ("n" * 256 + "\\", "invalid_path"),  # 5 before 6
    ("n" * 256 + "?", "path_too_long"),  # 6 before 7
]


def refusal(path: object) -> ToolError:
    with pytest.raises(ToolError) as caught:
        parse_path(path)
    return caught.value


@pytest.mark.parametrize(("path", "names"), ACCEPTED)
def test_a_path_is_split_into_its_names(path: str, names: tuple[str, ...]) -> None:
    assert parse_path(path) == names
    assert is_usable(path)


@pytest.mark.parametrize(("path", "code"), REFUSED)
def test_what_is_no_path_inside_the_workspace_is_refused(path: object, code: str) -> None:
    assert refusal(path).code == code


@pytest.mark.parametrize(("path", "code"), FIRST_RULE_WINS)
def test_the_first_broken_rule_decides_the_code(path: str, code: str) -> None:
    assert refusal(path).code == code


@pytest.mark.parametrize("path", [path for path, _ in REFUSED])
def test_a_refusal_is_one_short_line_that_can_be_printed(path: object) -> None:
    message = refusal(path).message
    assert message.isprintable()
    assert len(message) < 250


def test_a_refusal_repeats_the_path_as_it_was_spelled_but_never_an_absolute_one() -> None:
    assert "'a/../b'" in refusal("a/../b").message
    assert r"'a\u202eb'" in refusal("a\u202eb").message
    assert r"'a\u034fb:'" in refusal("a\u034fb:").message
    assert "\u034f" not in refusal("a\u034fb:").message
    assert "etc" not in refusal("/etc/passwd").message


def test_a_long_path_is_shortened_in_the_message() -> None:
    message = refusal("first" + "x" * 5000 + "last").message
    assert "'first" in message
    assert "last'" in message
    assert len(message) < 200


def test_a_pattern_may_hold_wildcards_and_nothing_else_more() -> None:
    assert parse_pattern("src/**/*.[ch]?") == ("src", "**", "*.[ch]?")
    for pattern, code in [
        ("../*", "path_escape"),
        ("/etc/*", "path_escape"),
        ("~/*", "invalid_path"),
        ("NUL/*", "invalid_path"),
        ("a|b*", "invalid_path"),
        ("", "invalid_path"),
        ("a/*/", "invalid_path"),
    ]:
        with pytest.raises(ToolError) as caught:
            parse_pattern(pattern)
        assert caught.value.code == code


awkward = st.text(st.sampled_from("ab.~/\\ :\0\u200b\udcff文…C*?[]~19$conulpt")) | st.text()


@given(awkward)
@settings(deadline=None)
def test_every_text_is_accepted_or_refused_with_a_code(path: str) -> None:
    code, message = "accepted", ""
    try:
        parse_path(path)
    except ToolError as error:
        code, message = error.code, error.message
    assert code in {"accepted", "invalid_path", "path_escape", "path_too_long"}
    assert message.isprintable()


@given(st.lists(st.sampled_from(["a", "b.txt", ".", "", "..", " ", "con", "文", "x.", "~"])))
@settings(deadline=None)
def test_an_accepted_path_stays_inside_and_means_itself(parts: list[str]) -> None:
    try:
        names = parse_path("/".join(parts))
    except ToolError:
        return
    assert not {"", ".", ".."} & set(names)
    joined = os.path.normpath("/".join(["/root", *names]))
    assert joined == "/root" or joined.startswith("/root/")
    assert parse_path("/".join([".", *names])) == names


@given(st.lists(st.text("abcnul.-_/~ 1文", max_size=8), max_size=4).map("/".join))
@example("com1/x")
@example("a/" * 63 + "b")
@example("a/" * 64 + "b")
@settings(deadline=None)
def test_the_fast_answer_is_the_same_answer(path: str) -> None:
    try:
        parse_path(path)
        usable = True
    except ToolError:
        usable = False
    assert is_usable(path) == usable
