"""The workspaces that the exercises are tried in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chapters.ch02.exercises.removable_files import RemovableLocalFiles
from chapters.ch02.exercises.trial import Workspace, disk_workspace, memory_workspace
from chapters.ch02.workspace import can_walk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Workspace]:
    """An empty workspace on the disk; `secret.txt` and a folder `other` lie beside it."""
    if not can_walk():
        pytest.skip("this system cannot open names relative to a directory")
    root = tmp_path / "workspace"
    root.mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "secret.txt").write_text("secret\n", encoding="utf-8")
    files = RemovableLocalFiles(root, fsync=False)
    with files:
        yield disk_workspace(root, files)


@pytest.fixture(params=["memory", "disk"])
def workspace(request: pytest.FixtureRequest) -> Workspace:
    """An empty workspace, once in memory and once on the disk."""
    if request.param == "memory":
        return memory_workspace()
    return request.getfixturevalue("disk")  # type: ignore[no-any-return]
