"""Text that somebody else wrote cannot act on the terminal, and cannot hide a part of itself."""

from __future__ import annotations

import pytest

from shared.text import shorten, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, über 文件 ❤\n\tnext", "plain text, über 文件 ❤\n\tnext"),
        ("\x1b[2J\r\x00\x7f\x9b", r"\x1b[2J\x0d\x00\x7f\x9b"),
        ("a\u202eb\u2028", r"a\u202eb\u2028"),
        ("\udcff\ue000", r"\udcff\ue000"),
        ("a\u200d.txt", r"a\u200d.txt"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_could_act_on_the_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


UNSEEN = [
    *(0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF9, 0xFFFC),
    *range(0xE0000, 0xE1000),
]


def test_no_character_without_a_shape_makes_two_names_look_alike() -> None:
    alike = [hex(code) for code in UNSEEN if not visible(f"a{chr(code)}.txt").isascii()]
    assert alike == []


def test_letters_and_signs_of_every_script_are_left_as_they_are() -> None:
    for text in ("한글", "ខ្មែរ", "ᠮᠣᠩᠭᠣᠯ", "😀🇪🇺", "é", "\ufffd", "１Ａ"):
        assert visible(text) == text


def test_a_long_text_says_how_much_is_left_out() -> None:
    assert shorten("abc", 3) == "abc"
    assert shorten("a" * 2003, 3) == "aaa… (+2,000 characters)"
