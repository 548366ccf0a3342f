"""Another process exchanges a directory, or a file, with a link that leads out, as fast as it can.

What the walk reads and writes stays inside all the same. The naive version is attacked in the same
way; how often it is fooled depends on the machine, so that is only reported.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chapters.ch02.local_files import LocalFiles
from chapters.ch02.naive_path import read_resolved
from chapters.ch02.swap_attack import SwapAttack, atomic_swap
from shared.errors import ToolError

SECONDS = 0.4  # of calls under attack, in each test

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(atomic_swap() is None, reason="needs Linux: renameat2 exchanges two names"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for directory, text in [(root / "d", "public"), (tmp_path / "out", "SECRET")]:
        directory.mkdir(parents=True)
        (directory / "f.txt").write_text(text)
    (root / "directory-link").symlink_to("../out")
    (root / "g.txt").write_text("public")
    (root / "file-link").symlink_to("../out/f.txt")
    return root


@pytest.fixture
def files(root: Path) -> Iterator[LocalFiles]:
    with LocalFiles(root, fsync=False) as opened:
        yield opened


def directory_attack(root: Path) -> SwapAttack:
    return SwapAttack(root / "d", root / "directory-link", seconds=10 * SECONDS)


def file_attack(root: Path) -> SwapAttack:
    return SwapAttack(root / "g.txt", root / "file-link", seconds=10 * SECONDS)


def calls(seconds: float = SECONDS) -> Iterator[int]:
    """As many calls as there is time for, however busy the machine is."""
    deadline = time.monotonic() + seconds
    for number in itertools.count():
        if time.monotonic() > deadline:
            return
        yield number


def everything(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.rglob("*") if path.is_file()}


def require_a_real_attack(attack: SwapAttack) -> None:
    assert attack.swaps > 100
    assert attack.swaps % 2 == 0


@pytest.mark.parametrize("path", ["d/f.txt", "g.txt"])
async def test_no_read_leaks(files: LocalFiles, root: Path, path: str) -> None:
    answers: set[str] = set()
    with (directory_attack if path.startswith("d") else file_attack)(root) as attack:
        for _ in calls():
            try:
                answers.add(await files.read_text(path))
            except ToolError as error:
                answers.add(error.code)
    require_a_real_attack(attack)
    assert answers <= {"public", "path_escape", "conflict"}
    assert {"public", "path_escape"} <= answers  # it was attacked, and it was not always refused


@pytest.mark.parametrize("path", ["d/new.txt", "d/n/e/w.txt"])
async def test_no_write_lands_outside_or_leaves_anything_behind(
    files: LocalFiles, root: Path, path: str
) -> None:
    written = 0
    with directory_attack(root) as attack:
        for _ in calls():
            with contextlib.suppress(ToolError):
                written += await files.write_text(path, "x")
    require_a_real_attack(attack)
    assert written
    assert everything(root.parent / "out") == {"f.txt": "SECRET"}
    assert [path.name for path in (root.parent / "out").rglob("*")] == ["f.txt"]
    assert not list(root.rglob("*.tmp"))


async def test_no_write_goes_through_a_link_that_was_a_file_a_moment_ago(
    files: LocalFiles, root: Path
) -> None:
    written = 0
    for _ in range(5):
        with file_attack(root) as attack:
            for _ in calls(SECONDS / 5):
                with contextlib.suppress(ToolError):
                    written += await files.write_text("g.txt", "x")
        require_a_real_attack(attack)
        # Putting the new file in place may have removed the link: begin again with both.
        for name in ("g.txt", "file-link"):
            (root / name).unlink()
        (root / "g.txt").touch()
        (root / "file-link").symlink_to("../out/f.txt")
    assert written
    assert everything(root.parent / "out") == {"f.txt": "SECRET"}
    assert not list(root.rglob("*.tmp"))


async def test_no_edit_touches_what_is_outside(files: LocalFiles, root: Path) -> None:
    with directory_attack(root) as attack:
        for number in calls():
            old, new = ("public", "PUBLIC") if number % 2 else ("PUBLIC", "public")
            with contextlib.suppress(ToolError):
                await files.edit_text("d/f.txt", old, new)
    require_a_real_attack(attack)
    assert everything(root.parent / "out") == {"f.txt": "SECRET"}
    assert (root / "d" / "f.txt").read_text().lower() == "public"


async def test_no_name_from_outside_is_listed(files: LocalFiles, root: Path) -> None:
    (root.parent / "out" / "only-outside.txt").touch()
    found: set[str] = set()
    with directory_attack(root) as attack:
        for _ in calls():
            with contextlib.suppress(ToolError):
                found.update(await files.glob("**/*.txt"))
                found.update(await files.glob("d/*.txt"))
    require_a_real_attack(attack)
    assert "d/f.txt" in found
    assert not [path for path in found if "only-outside" in path]


def test_how_often_the_naive_version_leaks(
    root: Path, record_property: Callable[[str, object], None]
) -> None:
    leaks = number = 0
    with directory_attack(root) as attack:
        for number in calls():  # noqa: B007
            with contextlib.suppress(ToolError, OSError, RuntimeError):
                leaks += read_resolved(root, "d/f.txt") == "SECRET"
    require_a_real_attack(attack)
    record_property("leaks", leaks)
    print(f"resolve, compare, open: {leaks} of {number} reads leaked")


def test_the_attacker_stops_by_itself_and_is_gone(root: Path) -> None:
    with SwapAttack(root / "d", root / "directory-link", most=10) as attack:
        pass
    assert attack.swaps <= 10
    assert attack._process.returncode == 0
    assert (root / "directory-link").is_symlink()
