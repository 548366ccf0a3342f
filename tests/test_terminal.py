"""The terminal: a question reaches a person or nobody, and Ctrl-C works at once."""

from __future__ import annotations

import asyncio
import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from chapters import ch01, ch03
from labs.line_reader import LineReader
from labs.terminal import CONTINUED, AlwaysYes, NobodyToAsk, TerminalApprover, rows
from shared.plan import Kit, Plan
from shared.scripted import call, says
from shared.testing import FakeCommands, MemoryAudit, run_script

pytestmark = pytest.mark.anyio

posix_only = pytest.mark.skipif(os.name == "nt", reason="needs a pseudo-terminal")


def pipe_with(data: bytes) -> TextIO:
    """A stream that holds `data` and then ends."""
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return os.fdopen(reading, encoding="utf-8")


async def all_lines(lines: LineReader) -> list[str]:
    """Every line up to the end."""
    found = []
    while (line := await lines.read_line()) is not None:
        found.append(line)
    return found


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", []),
        (b"one\n", ["one"]),
        (b"one\r\ntwo", ["one", "two"]),
        (b"\n\n", ["", ""]),
        ("你好\n".encode(), ["你好"]),
        (b"\xff\n", ["\ufffd"]),
        (b"x" * 60_000 + b"\nend\n", ["x" * 60_000, "end"]),
    ],
)
async def test_lines_come_as_they_were_written(
    data: bytes, expected: list[str], in_thread: bool
) -> None:
    with pipe_with(data) as stream:
        assert await all_lines(LineReader(stream, in_thread=in_thread)) == expected


async def test_a_file_can_be_read_like_a_pipe(tmp_path: Path) -> None:
    (tmp_path / "typed").write_text("one\ntwo\n", encoding="utf-8")
    with (tmp_path / "typed").open(encoding="utf-8") as stream:
        assert await all_lines(LineReader(stream)) == ["one", "two"]


async def test_no_input_at_all_has_ended() -> None:
    closed = pipe_with(b"lost\n")
    closed.close()
    assert await LineReader(closed).read_line() is None
    assert await LineReader(None).read_line() is None
    assert not LineReader(closed).is_terminal
    assert not LineReader(None).is_terminal


@pytest.mark.parametrize("in_thread", [False, True])
async def test_waiting_can_be_given_up_and_taken_up_again(in_thread: bool) -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, encoding="utf-8") as stream:
        lines = LineReader(stream, in_thread=in_thread)
        waiting = asyncio.create_task(lines.read_line())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        os.write(writing, b"still here\n")
        os.close(writing)
        assert await lines.read_line() == "still here"
        if not in_thread:
            left = asyncio.get_running_loop().remove_reader(stream.fileno())
            assert not left, "nobody waits, so nobody may be woken"


async def test_without_a_terminal_nobody_is_asked_whatever_the_input_holds() -> None:
    out = io.StringIO()
    with pipe_with(b"yes\n") as stream:
        with pytest.raises(NobodyToAsk):
            await TerminalApprover(LineReader(stream), out).ask("Run this?")
        assert "Run this?" not in out.getvalue()
        assert "standard input is no terminal" in out.getvalue()


async def test_a_person_who_said_yes_to_everything_is_not_asked() -> None:
    assert await AlwaysYes().ask("Run this?") == "yes"


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO]]:
    """Both ends of a pseudo-terminal: the keyboard, and the stream a program reads."""
    import pty

    keyboard, end = pty.openpty()
    with os.fdopen(end, "r", encoding="utf-8") as stream:
        yield keyboard, stream
        os.close(keyboard)


@posix_only
async def test_a_person_at_a_terminal_is_asked(terminal: tuple[int, TextIO]) -> None:
    keyboard, stream = terminal
    out = io.StringIO()
    asking = asyncio.create_task(TerminalApprover(LineReader(stream), out).ask("Run? [y/N] "))
    while "Run?" not in out.getvalue():
        await asyncio.sleep(0)
    os.write(keyboard, b"y\n")
    assert await asking == "y"


@posix_only
async def test_what_was_typed_before_the_question_is_no_answer(
    terminal: tuple[int, TextIO],
) -> None:
    keyboard, stream = terminal
    lines = LineReader(stream)
    os.write(keyboard, b"first\n")
    assert await lines.read_line() == "first"
    os.write(keyboard, b"y\n")
    out = io.StringIO()
    asking = asyncio.create_task(TerminalApprover(lines, out).ask("Run? "))
    while "Run?" not in out.getvalue():
        await asyncio.sleep(0)
    os.write(keyboard, b"no\n")
    assert await asking == "no"


@posix_only
async def test_the_end_of_the_input_is_no_answer(terminal: tuple[int, TextIO]) -> None:
    keyboard, stream = terminal
    out = io.StringIO()
    asking = asyncio.create_task(TerminalApprover(LineReader(stream), out).ask("Run? "))
    while "Run?" not in out.getvalue():
        await asyncio.sleep(0)
    os.write(keyboard, b"\x04")
    with pytest.raises(EOFError):
        await asking


@posix_only
async def test_a_question_cannot_act_on_the_terminal(terminal: tuple[int, TextIO]) -> None:
    keyboard, stream = terminal
    out = io.StringIO()
    asking = asyncio.create_task(TerminalApprover(LineReader(stream), out).ask("\x1b[2J? "))
    while "?" not in out.getvalue():
        await asyncio.sleep(0)
    os.write(keyboard, b"\n")
    assert await asking == ""
    assert out.getvalue() == "\\x1b[2J? "


FAKE_ROWS = (
    "May the agent use shell (execute)? Its effect is execute.",
    "  command: ls",
    "  y  yes, this once",
    "[y/e/t/N] ",
)


async def shown_at(
    terminal: tuple[int, TextIO], plan: Callable[[Kit], Plan], command: str
) -> list[str]:
    """The rows that a person sees before this command."""
    keyboard, stream = terminal
    out = io.StringIO()
    running = asyncio.create_task(
        run_script(
            plan,
            [says(call("shell", command=command)), says("done")],
            commands=FakeCommands(),
            approver=TerminalApprover(LineReader(stream), out),
            audit=MemoryAudit(),
        )
    )
    while not out.getvalue().endswith("N] "):
        await asyncio.sleep(0)
    os.write(keyboard, b"n\n")
    assert (await running).error is None
    return out.getvalue().split("\n")


@posix_only
@pytest.mark.parametrize("plan", [ch01.plan, ch03.plan], ids=["chapter 1", "chapter 3"])
@pytest.mark.parametrize("wide", ["", "é", "漢", "\t"])
async def test_a_command_that_the_terminal_would_break_cannot_make_up_a_question(
    plan: Callable[[Kit], Plan],
    wide: str,
    terminal: tuple[int, TextIO],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for before in range(60, 81):
        command = wide + "x" * before + "".join(row.ljust(80) for row in FAKE_ROWS)
        shown = await shown_at(terminal, plan, command)
        assert all(len(row) < 80 for row in shown)
        begun = [row for row in shown[1:-1] if not row.startswith(CONTINUED)]
        assert not any(row.startswith(FAKE_ROWS[::3]) or row == FAKE_ROWS[1] for row in begun)
        whole = "".join(row.removeprefix(CONTINUED) for row in shown)
        assert command.lstrip("\t") in whole


@pytest.mark.parametrize("columns", [10, 39, 79])
def test_what_is_broken_into_rows_is_still_whole(columns: int) -> None:
    text = f"  | {'word ' * 90}\n\n  | {'漢é' * 90}\n{' ' * 500}\n[y/N] "
    shown = rows(text, columns)
    assert shown.replace(f"\n{CONTINUED}", "") == text
    for row in shown.split("\n"):
        assert sum(1 if character.isascii() else 2 for character in row) <= columns


def test_rows_end_behind_words_unless_a_word_is_longer_than_half_a_row() -> None:
    shown = rows("May the agent use shell (execute)? It may do anything.\n  | rm " + "x" * 50, 39)
    assert shown.split("\n") == [
        "May the agent use shell (execute)? It ",
        f"{CONTINUED}may do anything.",
        "  | rm " + "x" * 32,
        CONTINUED + "x" * 18,
    ]
    assert all(len(row) <= 10 for row in rows("12345 7890abc", 10).split("\n"))


@posix_only
async def test_the_terminal_says_how_wide_it_is_and_its_encoding_what_it_shows(
    terminal: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    import termios

    keyboard, stream = terminal
    termios.tcsetwinsize(stream.fileno(), (24, 30))
    monkeypatch.setenv("COLUMNS", "100")
    with open(os.ttyname(stream.fileno()), "w", encoding="ascii") as out:  # noqa: PTH123
        asking = asyncio.create_task(TerminalApprover(LineReader(stream), out).ask("é" * 30 + "?"))
        shown = b""
        for _ in range(2):
            await asyncio.sleep(0)
        while b"?" not in shown:
            shown += os.read(keyboard, 4096)
        os.write(keyboard, b"n\n")
        assert await asking == "n"
    assert all(len(row) < 30 for row in shown.decode().split("\r\n"))
    assert shown.decode().replace(f"\r\n{CONTINUED}", "") == "\\xe9" * 30 + "?"
