"""What is kept of a command's output: bytes in, at most so many characters out."""

from __future__ import annotations

from chapters.ch01.command_output import CommandOutput


def test_a_character_that_arrives_byte_by_byte_stays_whole() -> None:
    output = CommandOutput(100)
    for byte in "a€你😀".encode():
        output.feed(bytes([byte]))
    assert output.close() == "a€你😀"


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    output = CommandOutput(100)
    output.feed(b"caf\xe9 ol\xe9\n")
    assert output.close() == "caf\ufffd ol\ufffd\n"


def test_half_a_character_at_the_end_is_replaced() -> None:
    output = CommandOutput(100)
    output.feed("€".encode()[:2])
    assert output.close() == "\ufffd"


def test_the_limit_counts_characters_not_bytes() -> None:
    output = CommandOutput(3)
    output.feed("你好吗".encode())
    assert output.close() == "你好吗"
    assert not output.truncated


def test_one_character_more_than_the_limit_is_left_out_and_that_is_known() -> None:
    output = CommandOutput(3)
    output.feed("你好".encode())
    output.feed("吗?".encode())
    output.feed(b"more")
    assert output.close() == "你好吗"
    assert output.truncated


def test_half_a_character_after_the_limit_is_known_too() -> None:
    output = CommandOutput(1)
    output.feed(b"a\xe2")
    assert output.close() == "a"
    assert output.truncated


def test_what_comes_after_the_end_is_thrown_away() -> None:
    output = CommandOutput(100)
    output.feed(b"early")
    assert output.close() == "early"
    output.feed(b"late")
    assert output.close() == "early"
    assert not output.truncated
