"""What `UndoFiles` promises."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapters import ch02
from chapters.ch02.exercises.trial import AWKWARD, PROPERTY, Failing, Workspace, memory_workspace
from shared.errors import ToolError
from shared.scripted import call, says
from shared.testing import run_script

pytestmark = pytest.mark.anyio

PATHS = st.sampled_from(["a[1]", "b"])  # the first one is no pattern here
WORDS = st.sampled_from(["", "one", "two", "one two\r\n"])
WRITES = st.tuples(st.just("write_text"), PATHS, WORDS)
EDITS = st.tuples(st.just("edit_text"), PATHS, st.just("one"), WORDS)


@pytest.mark.contract(
    "`undo` brings back every byte that a write has replaced.",
    read="chapters/ch02/README.md#write_file",
)
@pytest.mark.parametrize("old", ["one\n", "", AWKWARD], ids=["text", "empty", "awkward"])
async def test_a_write_is_taken_back(target: ModuleType, workspace: Workspace, old: str) -> None:
    workspace.put("a.txt", old)
    files = target.UndoFiles(workspace.files)
    await files.write_text("a.txt", "new\n")
    assert workspace.contents() == {"a.txt": b"new\n"}
    assert await files.undo() == "a.txt"
    assert workspace.contents() == {"a.txt": old.encode()}


@pytest.mark.contract(
    "`undo` brings back every byte that an edit has replaced.",
    read="chapters/ch02/README.md#edit_file",
)
async def test_an_edit_is_taken_back(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", AWKWARD)
    files = target.UndoFiles(workspace.files)
    await files.edit_text("a.txt", "two", "2")
    assert workspace.contents() == {"a.txt": AWKWARD.replace("two", "2").encode()}
    assert await files.undo() == "a.txt"
    assert workspace.contents() == {"a.txt": AWKWARD.encode()}


@pytest.mark.contract(
    "A file that did not exist before does not exist afterwards; an empty one is not the same.",
    read="chapters/ch02/README.md#write_file",
)
async def test_a_new_file_is_gone_again(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("empty.txt", "")
    files = target.UndoFiles(workspace.files)
    await files.write_text("docs/new.txt", "new\n")
    await files.write_text("empty.txt", "new\n")
    await files.undo()
    await files.undo()
    assert workspace.contents() == {"empty.txt": b""}


@pytest.mark.contract(
    "Each `undo` takes one step back, the last one first, until everything is as it was.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
@given(operations=st.lists(st.one_of(WRITES, EDITS), max_size=6))
@PROPERTY
async def test_step_by_step(target: ModuleType, operations: list[tuple[str, ...]]) -> None:
    workspace = memory_workspace()
    workspace.put("a[1]", "one")
    files = target.UndoFiles(workspace.files)
    history = [workspace.contents()]
    for method, *arguments in operations:
        with suppress(ToolError):  # an edit that found nothing: no step
            await getattr(files, method)(*arguments)
            history.append(workspace.contents())
    undone = [workspace.contents()]
    for _ in history[1:]:
        await files.undo()
        undone.append(workspace.contents())
    assert undone == history[::-1]


@pytest.mark.contract(
    "When nothing is left to take back, `undo` is a failure, `nothing_to_undo`.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_nothing_to_undo(target: ModuleType, workspace: Workspace) -> None:
    files = target.UndoFiles(workspace.files)
    await files.write_text("a.txt", "one\n")
    await files.undo()
    assert await code_of_undo(files) == "nothing_to_undo"
    assert workspace.contents() == {}


async def code_of_undo(files: Any) -> str | None:
    """The code with which `undo` fails; None if it does not."""
    try:
        await files.undo()
    except ToolError as error:
        return error.code
    return None


@pytest.mark.contract(
    "A write or an edit that failed leaves no step.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_a_failed_write_leaves_no_step(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    full = Failing(workspace.files, write_text="no_space", edit_text="no_space")
    files = target.UndoFiles(full)
    for method, *arguments in (
        ("write_text", "a.txt", "two\n"),
        ("write_text", "../secret.txt", "two\n"),
        ("edit_text", "a.txt", "one", "two"),
        ("edit_text", "none.txt", "one", "two"),
    ):
        with pytest.raises(ToolError):
            await getattr(files, method)(*arguments)
    assert await code_of_undo(files) == "nothing_to_undo"
    assert workspace.contents() == {"a.txt": b"one\n"}


@pytest.mark.contract(
    "What could not be taken back is not done: a file that is not text is not overwritten.",
    read="chapters/ch02/README.md#read_file",
)
async def test_what_is_not_text_is_not_overwritten(
    target: ModuleType, workspace: Workspace
) -> None:
    workspace.put("photo.jpg", b"\xff\xd8")
    files = target.UndoFiles(workspace.files)
    with pytest.raises(ToolError) as caught:
        await files.write_text("photo.jpg", "new\n")
    assert caught.value.code == "invalid_utf8"
    assert workspace.contents() == {"photo.jpg": b"\xff\xd8"}
    assert await code_of_undo(files) == "nothing_to_undo"


@pytest.mark.contract(
    "An `undo` that fails changes nothing, and can be tried again.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize("method", ["write_text", "remove"])
async def test_undo_can_be_tried_again(
    target: ModuleType, workspace: Workspace, method: str
) -> None:
    workspace.put("old.txt", "one\n")
    before = workspace.contents()
    doors = Failing(workspace.files)
    files = target.UndoFiles(doors)
    await files.write_text("old.txt" if method == "write_text" else "new.txt", "two\n")
    doors.codes[method] = "permission_denied"
    assert await code_of_undo(files) == "permission_denied"
    assert await code_of_undo(files) == "permission_denied"
    del doors.codes[method]
    assert await code_of_undo(files) is None
    assert workspace.contents() == before


@pytest.mark.contract(
    "A new file that somebody else has removed counts as taken back.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_what_is_gone_is_gone(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    files = target.UndoFiles(workspace.files)
    await files.write_text("a.txt", "two\n")
    await files.write_text("new.txt", "new\n")
    await workspace.files.remove("new.txt")
    assert [await files.undo(), await files.undo()] == ["new.txt", "a.txt"]
    assert workspace.contents() == {"a.txt": b"one\n"}


@pytest.mark.contract(
    "It remembers at most `max_bytes` of old texts and paths, and forgets the oldest step first.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
@pytest.mark.parametrize(
    ("max_bytes", "steps"), [(23, 3), (22, 2), (16, 2), (15, 1), (9, 1), (8, 0)]
)
async def test_the_history_is_bounded(target: ModuleType, max_bytes: int, steps: int) -> None:
    workspace = memory_workspace()
    workspace.put("é.txt", "1")  # its path is 6 bytes long
    files = target.UndoFiles(workspace.files, max_bytes=max_bytes)
    await files.write_text("é.txt", "2")  # a step of 6 + 1 bytes
    await files.write_text("é.txt", "é2")  # 6 + 1
    await files.write_text("é.txt", "3")  # 6 + 3
    codes = [await code_of_undo(files) for _ in range(4)]
    assert codes == [None] * steps + ["nothing_to_undo"] * (4 - steps)


@pytest.mark.contract(
    "New files cost the bytes of their paths, so that even they do not pile up for ever.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_new_files_cost_something(target: ModuleType) -> None:
    workspace = memory_workspace()
    files = target.UndoFiles(workspace.files, max_bytes=10)
    for number in range(9):
        await files.write_text(f"f{number}", "new\n")
    codes = [await code_of_undo(files) for _ in range(9)]
    assert codes == [None] * 5 + ["nothing_to_undo"] * 4
    assert sorted(workspace.contents()) == ["f0", "f1", "f2", "f3"]


@pytest.mark.contract(
    "A step too large to remember takes the older ones with it: `undo` never skips a write.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_no_write_is_skipped(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("a", "1")
    workspace.put("b", "a text of more than twenty bytes")
    files = target.UndoFiles(workspace.files, max_bytes=20)
    await files.write_text("a", "2")
    await files.write_text("b", "2")
    assert await code_of_undo(files) == "nothing_to_undo"
    assert workspace.contents() == {"a": b"2", "b": b"2"}


@pytest.mark.contract(
    "A step that was taken back makes room for new ones.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_undo_makes_room(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("a", "1234")
    files = target.UndoFiles(workspace.files, max_bytes=10)
    for _ in range(5):
        await files.write_text("a", "4321")
        await files.undo()
    await files.write_text("a", "4321")
    await files.write_text("a", "5678")
    assert [await files.undo(), await files.undo()] == ["a", "a"]
    assert workspace.contents() == {"a": b"1234"}


@pytest.mark.contract(
    "Chapter 2's agent runs on it and notices nothing; afterwards its work can be taken back.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_the_agent_notices_nothing(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "alpha\nalpha\n")
    before = workspace.contents()
    script = [
        says(
            call("edit_file", path="a.txt", old_text="alpha", new_text="gamma"),
            call("write_file", path="b.txt", content="new\n"),
            call("edit_file", path="a.txt", old_text="delta", new_text="gamma"),
            call("write_file", path="../secret.txt", content="new\n"),
            call("read_file", path="a.txt"),
            call("glob", pattern="*.txt"),
        ),
        says("done"),
    ]
    files = target.UndoFiles(workspace.files)
    recording = await run_script(ch02.plan, script, files=files)
    assert [result.code or result.text for result in recording.results] == [
        "Edited a.txt",
        "Wrote 4 bytes to b.txt",
        "text_not_found",
        "path_escape",
        "gamma\nalpha\n",
        "a.txt\nb.txt",
    ]
    assert [await files.undo(), await files.undo()] == ["b.txt", "a.txt"]
    assert workspace.contents() == before
