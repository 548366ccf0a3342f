"""The boundary: a way out is denied before anybody is asked, however the path is handed over."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pydantic import Field

from chapters import ch03
from chapters.ch02.file_tools import WorkspacePath
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Arguments
from chapters.ch02.workspace import open_workspace
from chapters.ch03.boundary import WorkspaceBoundary
from chapters.ch03.paths import workspace_paths
from chapters.ch03.tests.calls import prepared
from shared.decision import Behaviour
from shared.scripted import call, says
from shared.testing import FakeApprover, MemoryAudit, run_script

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("path", ["../a.txt", "/etc/passwd", "a/../../b", "C:\\a", "~/a", "a\x00b"])
@pytest.mark.parametrize("tool", ["read_file", "write_file", "edit_file"])
async def test_a_way_out_is_denied_and_nobody_is_asked(tool: str, path: str) -> None:
    rest = {"write_file": {"content": ""}, "edit_file": {"old_text": "a", "new_text": "b"}}
    approver, audit = FakeApprover("tool"), MemoryAudit()
    recording = await run_script(
        ch03.plan,
        [says(call(tool, path=path, **rest.get(tool, {}))), says("done")],
        files=MemoryFiles(),
        approver=approver,
        audit=audit,
    )
    assert recording.results[0].code == "permission_denied"
    assert approver.questions == []
    assert (audit.entries[0]["decision"], audit.entries[0]["source"]) == ("deny", "boundary")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_a_link_that_leads_out_is_denied_and_nobody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "link").symlink_to(tmp_path / "outside")
    approver = FakeApprover("yes")
    with open_workspace(tmp_path / "workspace") as files:
        recording = await run_script(
            ch03.plan,
            [says(call("write_file", path="link/a.txt", content="x")), says("done")],
            files=files,
            approver=approver,
        )
    assert "boundary: path_escape" in recording.results[0].text
    assert approver.questions == []
    assert list((tmp_path / "outside").iterdir()) == []
    assert str(tmp_path) not in recording.results[0].text


async def test_being_inside_is_no_reason_to_allow() -> None:
    said = await WorkspaceBoundary(MemoryFiles()).decide(prepared("read_file", path="a.txt"))
    assert said.behaviour is Behaviour.PASS
    approver = FakeApprover("no")
    await run_script(
        ch03.plan,
        [says(call("write_file", path="a.txt", content="x")), says("done")],
        files=MemoryFiles(),
        approver=approver,
    )
    assert len(approver.questions) == 1


class Inner(Arguments):
    """A path further inside."""

    place: WorkspacePath


class Many(Arguments):
    """Paths in all the ways in which arguments can hold them."""

    name: str
    first: WorkspacePath
    maybe: WorkspacePath | None = None
    several: list[WorkspacePath] = Field(default_factory=list)
    pairs: dict[str, WorkspacePath] = Field(default_factory=dict)
    inner: Inner | None = None
    inners: tuple[Inner, ...] = ()


def test_paths_are_found_wherever_a_field_is_marked() -> None:
    arguments = Many(
        name="x",
        first="1",
        maybe="2",
        several=["3", "4"],
        pairs={"5": "6"},
        inner=Inner(place="7"),
        inners=(Inner(place="8"), Inner(place="9")),
    )
    assert workspace_paths(arguments) == tuple("123456789")
    assert workspace_paths(Many(name="x", first="1")) == ("1",)
    assert workspace_paths("no model") == ()
