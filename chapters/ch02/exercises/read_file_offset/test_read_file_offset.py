"""What `read_file` with an offset promises."""

from __future__ import annotations

import re
from dataclasses import replace
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chapters import ch01, ch02
from chapters.ch02.exercises.trial import AWKWARD, PROPERTY, Workspace, memory_workspace, use
from shared.messages import AssistantMessage, Request
from shared.scripted import call, last_result, says
from shared.testing import fake_kit, run_script
from shared.tools import Effect

pytestmark = pytest.mark.anyio

TEXTS = st.text(
    alphabet=["a", "é", "\r", "\n", "\x0c", "\u2028", "\ufeff"], min_size=1, max_size=12
)


def numbered(count: int) -> str:
    """`count` lines, each of which says which one it is."""
    return "".join(f"line {number}\n" for number in range(1, count + 1))


@pytest.mark.contract(
    "A piece ends with a notice: which lines it shows, how many there are, where to go on.",
    read="chapters/ch02/README.md#read_file",
)
@pytest.mark.parametrize(
    ("asked", "first", "last", "notice"),
    [
        ({"limit": 200}, 1, 200, "[Showing lines 1-200 of 5210. Use offset=201 to continue.]"),
        (
            {"offset": 201, "limit": 200},
            201,
            400,
            "[Showing lines 201-400 of 5210. Use offset=401 to continue.]",
        ),
        (
            {"offset": 5209, "limit": 1},
            5209,
            5209,
            "[Showing lines 5209-5209 of 5210. Use offset=5210 to continue.]",
        ),
    ],
)
async def test_a_piece_says_where_to_go_on(
    target: ModuleType,
    workspace: Workspace,
    asked: dict[str, int],
    first: int,
    last: int,
    notice: str,
) -> None:
    workspace.put("long.txt", numbered(5210))
    result = await use(target.read_file(workspace.files), path="long.txt", **asked)
    lines = result.text.split("\n")
    assert lines[-1] == notice
    assert (lines[0], lines[-2]) == (f"line {first}", f"line {last}")
    assert len(lines) == last - first + 2


@pytest.mark.contract(
    "The last piece of a file, and a file read whole, come without a notice.",
    read="chapters/ch02/README.md#read_file",
)
@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({}, "line 1\nline 2\nline 3\n"),
        ({"limit": 3}, "line 1\nline 2\nline 3\n"),
        ({"offset": 2}, "line 2\nline 3\n"),
        ({"offset": 3, "limit": 1}, "line 3\n"),
        ({"offset": 2, "limit": 100}, "line 2\nline 3\n"),
    ],
)
async def test_the_last_piece_has_no_notice(
    target: ModuleType, workspace: Workspace, asked: dict[str, int], text: str
) -> None:
    workspace.put("short.txt", numbered(3))
    result = await use(target.read_file(workspace.files), path="short.txt", **asked)
    assert result.text == text


@pytest.mark.contract(
    "The pieces, put together without their notices, are the file, byte for byte.",
    read="chapters/ch02/README.md#read_file",
)
@given(text=TEXTS, limit=st.integers(1, 4))
@example(text=AWKWARD, limit=1)
@PROPERTY
async def test_the_pieces_are_the_file(target: ModuleType, text: str, limit: int) -> None:
    workspace = memory_workspace()
    workspace.put("a.txt", text)
    tool = target.read_file(workspace.files)
    total = text.count("\n") + (not text.endswith("\n"))
    together = ""
    for offset in range(1, total + 1, limit):
        piece = (await use(tool, path="a.txt", offset=offset, limit=limit)).text
        last = min(offset + limit - 1, total)
        notice = f"[Showing lines {offset}-{last} of {total}. Use offset={last + 1} to continue.]"
        together += piece.removesuffix(notice) if last < total else piece
    assert together.encode() == text.encode()


@pytest.mark.contract(
    "Only a line feed ends a line; what merely looks like a line end does not.",
    read="chapters/ch02/README.md#read_file",
)
@pytest.mark.parametrize("character", ["\r", "\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u2029"])
async def test_a_line_ends_at_a_line_feed(
    target: ModuleType, workspace: Workspace, character: str
) -> None:
    workspace.put("a.txt", f"one{character}still one\ntwo\n")
    result = await use(target.read_file(workspace.files), path="a.txt", limit=1)
    notice = "[Showing lines 1-1 of 2. Use offset=2 to continue.]"
    assert result.text == f"one{character}still one\n{notice}"


@pytest.mark.contract(
    "An offset past the end is a failure that says how many lines there are.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize(
    ("text", "total", "offset"),
    [("1\n2\n3\n4\n5\n", 5, 6), ("1\n2\n3\n4\n5", 5, 7), ("1\n", 1, 1000), ("", 0, 2)],
)
async def test_past_the_end(
    target: ModuleType, workspace: Workspace, text: str, total: int, offset: int
) -> None:
    workspace.put("a.txt", text)
    result = await use(target.read_file(workspace.files), path="a.txt", offset=offset)
    assert result.code == "offset_out_of_range"
    assert str(total) in re.findall(r"\d+", result.text)


@pytest.mark.contract(
    "An empty file reads as `(empty file)`, not as nothing.",
    read="chapters/ch02/README.md#read_file",
)
async def test_an_empty_file_is_said_to_be_empty(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "")
    result = await use(target.read_file(workspace.files), path="a.txt")
    assert (result.code, result.text) == (None, "(empty file)")


@pytest.mark.contract(
    "Without a limit a piece is 2,000 lines; a model may ask for more.",
    read="chapters/ch02/README.md#read_file",
)
async def test_two_thousand_lines_at_a_time(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("long.txt", numbered(2001))
    tool = target.read_file(workspace.files)
    piece = (await use(tool, path="long.txt")).text
    assert piece.endswith("line 2000\n[Showing lines 1-2000 of 2001. Use offset=2001 to continue.]")
    assert (await use(tool, path="long.txt", limit=2001)).text == numbered(2001)


@pytest.mark.contract(
    "A piece of more than 200,000 characters is refused, but the same file can be read in smaller"
    " ones.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_a_piece_has_a_size(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("wide.txt", f"{'a' * 150_000}\n" * 2)
    tool = target.read_file(workspace.files)
    result = await use(tool, path="wide.txt")
    assert result.code == "too_large"
    assert "limit" in result.text
    assert (await use(tool, path="wide.txt", offset=2, limit=1)).code is None


@pytest.mark.contract(
    "Offset and limit are whole numbers from 1 on; what is almost one is refused.",
    read="chapters/ch02/README.md#one-definition",
)
@pytest.mark.parametrize("number", [0, -1, "1", True, 1.0, None])
@pytest.mark.parametrize("field", ["offset", "limit"])
async def test_strict_numbers(target: ModuleType, field: str, number: object) -> None:
    workspace = memory_workspace()
    workspace.put("a.txt", "1\n")
    result = await use(target.read_file(workspace.files), path="a.txt", **{field: number})
    assert result.code == "invalid_arguments"


@pytest.mark.contract(
    "In the plan it stands where chapter 2's `read_file` stood; nothing else changes.",
    read="chapters/ch02/README.md#the-registry",
)
async def test_it_takes_the_place_of_the_old_tool(target: ModuleType) -> None:
    kit = fake_kit()
    old = ch02.plan(kit)
    tool = target.read_file(kit.files)
    new = target.replace_tool(old, tool)
    assert (tool.name, tool.effect) == ("read_file", Effect.READ)
    assert new.tools == (old.tools[0], tool, *old.tools[2:])
    assert replace(new, tools=old.tools) == old


@pytest.mark.contract(
    "Replacing a tool that is not in the plan is a programmer's mistake, and named.",
    read="chapters/ch02/README.md#the-registry",
)
async def test_nothing_to_replace(target: ModuleType) -> None:
    kit = fake_kit()
    tool = target.read_file(kit.files)
    with pytest.raises(ValueError, match="read_file"):
        target.replace_tool(ch01.plan(kit), tool)


@pytest.mark.contract(
    "A model that does what the notice says reads the whole file.",
    read="chapters/ch02/README.md#read_file",
)
async def test_a_model_that_follows_the_notice(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("long.txt", numbered(5))

    def go_on(request: Request) -> AssistantMessage:
        offset = re.search(r"Use offset=(\d+) to continue", last_result(request).text)
        assert offset, f"no notice in {last_result(request).text!r}"
        return says(call("read_file", path="long.txt", offset=int(offset[1]), limit=2))

    recording = await run_script(
        lambda kit: target.replace_tool(ch02.plan(kit), target.read_file(kit.files)),
        [says(call("read_file", path="long.txt", limit=2)), go_on, go_on, says("Five lines.")],
        files=workspace.files,
    )
    assert [result.text for result in recording.results] == [
        "line 1\nline 2\n[Showing lines 1-2 of 5. Use offset=3 to continue.]",
        "line 3\nline 4\n[Showing lines 3-4 of 5. Use offset=5 to continue.]",
        "line 5\n",
    ]
