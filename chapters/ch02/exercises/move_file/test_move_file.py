"""What `move_file` promises."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from chapters import ch02
from chapters.ch02.exercises.trial import AWKWARD, Failing, Workspace, memory_workspace, use
from shared.scripted import call, says
from shared.testing import run_script
from shared.tools import Effect

pytestmark = pytest.mark.anyio


@pytest.mark.contract(
    "The file is at the target, byte for byte, and no longer at the source.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
@pytest.mark.parametrize("content", ["one\n", "", AWKWARD], ids=["text", "empty", "awkward"])
async def test_the_file_moves(target: ModuleType, workspace: Workspace, content: str) -> None:
    workspace.put("a.txt", content)
    workspace.put("other.txt", "other\n")
    result = await use(target.move_file(workspace.files), source="a.txt", target="b.txt")
    assert result.text == f"Moved a.txt to b.txt ({len(content.encode())} bytes)"
    assert workspace.contents() == {"b.txt": content.encode(), "other.txt": b"other\n"}


@pytest.mark.contract(
    "Folders on the way to the target are created.",
    read="chapters/ch02/README.md#write_file",
)
async def test_missing_folders_are_created(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    await use(target.move_file(workspace.files), source="a.txt", target="docs/old/a.txt")
    assert workspace.contents() == {"docs/old/a.txt": b"one\n"}


@pytest.mark.contract(
    "A source that is not there, or is not a text file, is a failure, and nothing changes.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("none.txt", "file_not_found"),
        ("docs", "is_a_directory"),
        ("photo.jpg", "invalid_utf8"),
    ],
)
async def test_no_source_no_move(
    target: ModuleType, workspace: Workspace, source: str, code: str
) -> None:
    workspace.put("docs/a.txt", "one\n")
    workspace.put("photo.jpg", b"\xff\xd8")
    result = await use(target.move_file(workspace.files), source=source, target="b.txt")
    assert (result.code, workspace.contents()) == (
        code,
        {"docs/a.txt": b"one\n", "photo.jpg": b"\xff\xd8"},
    )


@pytest.mark.contract(
    "What stands at the target is not overwritten, even if it is empty, a folder or not text.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize(
    ("there", "code"),
    [
        ("full.txt", "file_exists"),
        ("empty.txt", "file_exists"),
        ("copy[1].txt", "file_exists"),
        ("docs", "is_a_directory"),
        ("photo.jpg", "invalid_utf8"),
    ],
)
async def test_nothing_is_overwritten(
    target: ModuleType, workspace: Workspace, there: str, code: str
) -> None:
    before = {
        "a.txt": b"one\n",
        "copy[1].txt": b"old\n",
        "docs/b.txt": b"old\n",
        "empty.txt": b"",
        "full.txt": b"old\n",
        "photo.jpg": b"\xff\xd8",
    }
    for path, content in before.items():
        workspace.put(path, content)
    result = await use(target.move_file(workspace.files), source="a.txt", target=there)
    assert (result.code, workspace.contents()) == (code, before)


@pytest.mark.contract(
    "A file moved onto itself is still there, however its path is spelled.",
    read="chapters/ch02/README.md#the-safe-path",
)
@pytest.mark.parametrize("spelling", ["docs/a.txt", "./docs/a.txt", "docs//a.txt", "docs/./a.txt"])
async def test_onto_itself(target: ModuleType, workspace: Workspace, spelling: str) -> None:
    workspace.put("docs/a.txt", "one\n")
    result = await use(target.move_file(workspace.files), source="docs/a.txt", target=spelling)
    assert (result.code, workspace.contents()) == ("file_exists", {"docs/a.txt": b"one\n"})


@pytest.mark.contract(
    "A file moved onto itself by way of a link is still there.",
    read="chapters/ch02/README.md#the-safe-path",
)
async def test_onto_itself_through_a_link(
    target: ModuleType, disk: Workspace, tmp_path: Path
) -> None:
    disk.put("a.txt", "one\n")
    (tmp_path / "workspace" / "same.txt").symlink_to("a.txt")
    result = await use(target.move_file(disk.files), source="a.txt", target="same.txt")
    assert (result.code, disk.contents()["a.txt"]) == ("file_exists", b"one\n")


@pytest.mark.contract(
    "Neither end leaves the workspace: the call is refused and the file stays.",
    read="chapters/ch02/README.md#the-safe-path",
)
@pytest.mark.parametrize("outside", ["../secret.txt", "/secret.txt", "docs/../../secret.txt"])
@pytest.mark.parametrize("end", ["source", "target"])
async def test_neither_end_leaves(
    target: ModuleType, workspace: Workspace, end: str, outside: str
) -> None:
    workspace.put("docs/a.txt", "one\n")
    ends = {"source": "docs/a.txt", "target": "b.txt", end: outside}
    result = await use(target.move_file(workspace.files), **ends)
    assert (result.code, workspace.contents()) == ("path_escape", {"docs/a.txt": b"one\n"})


@pytest.mark.contract(
    "A link that leads out of the workspace is followed at neither end.",
    read="chapters/ch02/README.md#the-safe-path",
)
@pytest.mark.parametrize(
    ("source", "there"), [("out/secret.txt", "b.txt"), ("a.txt", "out/b.txt"), ("a.txt", "gone")]
)
async def test_links_do_not_lead_out(
    target: ModuleType, disk: Workspace, tmp_path: Path, source: str, there: str
) -> None:
    disk.put("a.txt", "one\n")
    (tmp_path / "workspace" / "out").symlink_to("..")
    (tmp_path / "workspace" / "gone").symlink_to("../other/nothing-yet")
    result = await use(target.move_file(disk.files), source=source, target=there)
    assert result.code == "path_escape"
    assert disk.contents()["a.txt"] == b"one\n"
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"
    assert list((tmp_path / "other").iterdir()) == []
    assert not (tmp_path / "b.txt").exists()


@pytest.mark.contract(
    "If the target cannot be written, the source is still there, untouched.",
    read="chapters/ch02/README.md#write_file",
)
async def test_a_failed_write_loses_nothing(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    files = Failing(workspace.files, write_text="no_space")
    result = await use(target.move_file(files), source="a.txt", target="b.txt")
    assert (result.code, workspace.contents()) == ("no_space", {"a.txt": b"one\n"})


@pytest.mark.contract(
    "If the source cannot be removed, both files exist, and the failure says so and names them.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_a_failed_removal_is_said(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    files = Failing(workspace.files, remove="permission_denied")
    result = await use(target.move_file(files), source="a.txt", target="b.txt")
    assert (result.code, workspace.contents()) == (
        "permission_denied",
        {"a.txt": b"one\n", "b.txt": b"one\n"},
    )
    assert "a.txt" in result.text
    assert "b.txt" in result.text


@pytest.mark.contract(
    "If nobody can tell whether the target is free, nothing is written.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_in_doubt_nothing_is_written(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")

    class Locked(Failing):
        async def read_text(self, path: str) -> str:
            fail = Failing(workspace.files, read_text="permission_denied")
            text: str = await (workspace.files if path == "a.txt" else fail).read_text(path)
            return text

    result = await use(target.move_file(Locked(workspace.files)), source="a.txt", target="b.txt")
    assert (result.code, workspace.contents()) == ("permission_denied", {"a.txt": b"one\n"})


@pytest.mark.contract(
    "It is one more tool of chapter 2's agent, its effect is `write`, and its failures are data.",
    read="chapters/ch02/README.md#one-definition",
)
async def test_the_agent_has_one_more_tool(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("a.txt", "one\n")
    tool = target.move_file(workspace.files)
    assert (tool.name, tool.effect) == ("move_file", Effect.WRITE)

    recording = await run_script(
        lambda kit: ch02.plan(kit).with_tools(tool),
        [
            says(call("move_file", source="a.txt", target="b.txt")),
            says(call("move_file", source="a.txt", target="c.txt")),
            says(call("glob", pattern="*.txt")),
            says("It is b.txt now."),
        ],
        files=workspace.files,
    )
    assert [(result.code, result.text[:12]) for result in recording.results] == [
        (None, "Moved a.txt "),
        ("file_not_found", "Error [file_"),
        (None, "b.txt"),
    ]
