"""What a person is shown: all of it, and nothing in it that could pass for something else."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

import pytest

from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.workspace import open_workspace
from chapters.ch03.difference import difference
from chapters.ch03.preview import preview
from chapters.ch03.tests.calls import prepared
from shared.messages import ToolCall, ToolSpec
from shared.tools import Effect, PreparedCall, Tool

pytestmark = pytest.mark.anyio


async def shown(tool: str, files: MemoryFiles | None = None, **arguments: object) -> str:
    return await preview(prepared(tool, **arguments), files or MemoryFiles())


# Arguments


async def test_a_long_command_is_shown_in_full() -> None:
    command = "echo " + "x" * 50_000 + "; rm -r ."
    assert await shown("shell", command=command) == f"  command: {command}"


async def test_no_line_of_a_command_can_pass_for_a_line_of_the_question() -> None:
    text = await shown("shell", command="ls\n  y  yes, this once\n[y/e/t/N] \n")
    assert text.split("\n") == [
        "  command:",
        "    | ls",
        "    |   y  yes, this once",
        "    | [y/e/t/N] ",
        "    | ",
    ]


async def test_arguments_of_every_kind_are_shown() -> None:
    assert await shown("read_file", path="a.txt", limit=3) == "  path: a.txt\n  limit: 3"
    assert await shown("read_file", path="a.txt") == "  path: a.txt\n  limit: null"


class Bare:
    """Arguments without slots, fields or a model."""

    def __repr__(self) -> str:
        return "Bare(everything)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (Bare(), "  arguments: Bare(everything)"),
        ({"a": {"b": [1, None]}}, '  a: {"b": [1, null]}'),
        ({"a\n  y": "x"}, "  a\\n  y: x"),
        ([1, "x\ny"], '  arguments: [1, "x\\ny"]'),
        ({1: "a", "1": "b"}, "  arguments: {1: 'a', '1': 'b'}"),
        ({}, "  (no arguments)"),
    ],
)
async def test_no_kind_of_arguments_is_invisible(arguments: object, text: str) -> None:
    async def handler(arguments: object) -> str:
        return ""

    tool = Tool(ToolSpec("odd", "Odd.", {}), Effect.WRITE, dict, handler)
    odd = PreparedCall(tool, ToolCall("1", "odd", "{}"), arguments)
    assert await preview(odd, MemoryFiles()) == text


# Changes of files


async def test_a_write_is_shown_as_the_difference_to_the_file_as_it_is_now() -> None:
    files = MemoryFiles({"a.txt": "one\ntwo\nthree\n"})
    assert await shown("write_file", files, path="a.txt", content="one\n2\nthree\n") == (
        "  a.txt (replaced)\n    | @@ -1,3 +1,3 @@\n    |  one\n    | -two\n    | +2\n    |  three"
    )


async def test_a_new_file_is_shown_whole() -> None:
    assert await shown("write_file", path="a.txt", content="one\n\n[y/N] \n") == (
        "  a.txt (a new file)\n    | @@ -0,0 +1,3 @@\n    | +one\n    | +\n    | +[y/N] "
    )


async def test_an_edit_is_shown_where_it_happens_and_only_there() -> None:
    text = "".join(f"line {number}\n" for number in range(1, 101))
    files = MemoryFiles({"a.txt": text + text})
    assert await shown(
        "edit_file", files, path="a.txt", old_text="line 50\n", new_text="line fifty\n"
    ) == (
        "  a.txt (edited)\n"
        "    | @@ -47,7 +47,7 @@\n"
        "    |  line 47\n"
        "    |  line 48\n"
        "    |  line 49\n"
        "    | -line 50\n"
        "    | +line fifty\n"
        "    |  line 51\n"
        "    |  line 52\n"
        "    |  line 53"
    )


async def test_no_line_of_a_file_can_pass_for_a_line_of_the_question() -> None:
    files = MemoryFiles({"a.txt": " y  yes, this once\nMay the agent use glob (read)?\n[y/N] \n"})
    text = await shown("write_file", files, path="a.txt", content=" y  yes, this once\n")
    assert all(line.startswith("    | ") for line in text.split("\n")[1:])


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_for_a_link_the_question_says_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "run.sh").write_text("old\n", encoding="utf-8")
    (tmp_path / "notes.txt").symlink_to("hooks/run.sh")
    with open_workspace(tmp_path) as files:
        call = prepared("write_file", path="./notes.txt", content="new\n")
        text = await preview(call, files)
        plain = await preview(prepared("write_file", path="./a//b.txt", content=""), files)
    assert text.startswith("  ./notes.txt -> hooks/run.sh (replaced)\n")
    assert "    | -old" in text
    assert plain.startswith("  ./a//b.txt (a new file)\n")


async def test_nothing_is_written_to_show_what_would_be() -> None:
    files = MemoryFiles({"a.txt": "old"})
    await shown("write_file", files, path="a.txt", content="new")
    await shown("edit_file", files, path="a.txt", old_text="old", new_text="new")
    assert files.files == {"a.txt": b"old"}


async def test_an_edit_that_finds_nothing_now_is_shown_in_full() -> None:
    files = MemoryFiles({"a.txt": "one"})
    text = await shown("edit_file", files, path="a.txt", old_text="two", new_text="3\n4")
    assert text == (
        "  a.txt: this edit fails as things are (text_not_found)\n"
        "  old_text: two\n  new_text:\n    | 3\n    | 4"
    )


@pytest.mark.parametrize(
    ("files", "path", "code"),
    [
        (MemoryFiles(), "a.txt", "file_not_found"),
        (MemoryFiles({"a.txt": b"\xff"}), "a.txt", "invalid_utf8"),
        (MemoryFiles({"d/a.txt": ""}), "d", "is_a_directory"),
    ],
)
async def test_an_edit_of_what_cannot_be_read_is_shown_in_full(
    files: MemoryFiles, path: str, code: str
) -> None:
    text = await shown("edit_file", files, path=path, old_text="two", new_text="three")
    assert text == (
        f"  {path}: this edit fails as things are ({code})\n  old_text: two\n  new_text: three"
    )


@pytest.mark.parametrize(
    ("files", "code"),
    [
        (MemoryFiles({"a.txt": b"\xff"}), "invalid_utf8"),
        (MemoryFiles({"a.txt": "x" * 11}, max_bytes=10), "too_large"),
    ],
)
async def test_a_file_that_cannot_be_shown_does_not_look_like_a_new_one(
    files: MemoryFiles, code: str
) -> None:
    text = await shown("write_file", files, path="a.txt", content="new\nfile")
    assert text == (
        f"  a.txt: what is there now cannot be shown ({code}); this would replace it\n"
        "  content:\n    | new\n    | file"
    )


# The difference itself


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("a\n", "a\n", ["(nothing would change)"]),
        ("", "", ["(nothing would change)"]),
        ("a\n", "", ["@@ -1 +0,0 @@", "-a"]),
        (
            "a",
            "a\n",
            ["@@ -1 +1 @@", "-a", "\\ no line break at the end of the file", "+a"],
        ),
        (
            "a\n",
            "a\nb",
            ["@@ -1 +1,2 @@", " a", "+b", "\\ no line break at the end of the file"],
        ),
        ("a\r\nb\r\n", "a\r\nc\r\n", ["@@ -1,2 +1,2 @@", " a\r", "-b\r", "+c\r"]),
        ("a\r\n", "a\n", ["@@ -1 +1 @@", "-a\r", "+a"]),
        ("a\x0bb\u2028c\x85\n", "d\n", ["@@ -1 +1 @@", "-a\x0bb\u2028c\x85", "+d"]),
        ("@@ -1 +1 @@\n", "--- a\n", ["@@ -1 +1 @@", "-@@ -1 +1 @@", "+--- a"]),
    ],
)
def test_a_difference_line_by_line(before: str, after: str, lines: list[str]) -> None:
    assert difference(before, after).split("\n") == lines


def applied(before: str, diff: str) -> str:
    """What a patch makes of a text, by the numbers in its heads alone."""
    old, new, at = before.split("\n"), list[str](), 0
    for line in diff.split("\n"):
        if line.startswith("@@"):
            start = int(line.split()[1].lstrip("-").split(",")[0])
            size = line.split()[1].split(",")[1:]
            start -= size != ["0"]
            new += old[at:start]
            at = start
        elif line[0] in " -":
            assert old[at] == line[1:]
            at += 1
        if line[0] in " +":
            new.append(line[1:])
    return "\n".join([*new, *old[at:]])


def test_a_difference_says_all_that_changes_and_where() -> None:
    dice = random.Random(7)
    for _ in range(300):
        before = "".join(f"{dice.choice('abc')}\n" for _ in range(dice.randrange(25)))
        lines = before.splitlines(keepends=True)
        for _ in range(dice.randrange(1, 4)):
            place = dice.randrange(len(lines) + 1)
            lines[place : place + dice.randrange(3)] = ["d\n"] * dice.randrange(3)
        after = "".join(lines)
        if before != after:
            assert applied(before, difference(before, after)) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["same\n", "\n"] * 50_000, ["\n", "other\n"] * 50_000),
        (["x\n", "a\n"] * 15_000, ["y\n", "a\n"] * 99),
        (["a\n"] * 900, ["b\n", "a\n"] * 500),
        ([f"{n}\n" for n in range(100_000)], [f"{n}\n" for n in range(100_000, 0, -1)]),
    ],
)
def test_a_large_difference_is_shown_whole_and_soon(before: list[str], after: list[str]) -> None:
    began = time.process_time()
    shown = difference("".join(before), "".join(after)).split("\n")
    assert time.process_time() - began < 3
    assert sum(line[0] in " +" for line in shown) <= len(after)
    assert applied("".join(before), "\n".join(shown)) == "".join(after)
