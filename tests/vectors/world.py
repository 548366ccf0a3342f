"""The world in which one row of safe-path vectors plays: a workspace, and secrets around it."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Setup = dict[str, Any]

SECRET = "SECRET"
NOBODY = 65534
SETUP_OPS = {
    *("mkdir", "file", "rawfile", "sparse", "symlink", "hardlink", "fifo", "socket", "device"),
    *("chmod", "root_symlink", "race_exchange"),
}


class CannotSetUp(Exception):
    """This machine does not let us make what the row needs; the text says what."""


class World:
    """`ROOT` is the workspace; `OUT`, `ROOT2` and `secret.txt` are beside it, in `base`."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "ROOT"
        self.out = base / "OUT"
        self.opened = self.root  # how the workspace is reached
        self.race: tuple[Path, Path] | None = None
        self.locked: list[Path] = []  # what has lost permissions, for the cleaning up
        for directory in (self.root, self.out / "sub", base / "ROOT2"):
            directory.mkdir(parents=True)
        for directory in (self.out, self.out / "sub", base / "ROOT2", base):
            (directory / "secret.txt").write_bytes(f"{SECRET}\n".encode())

    def fill_in(self, value: Any) -> Any:
        """`value` with $ROOT and $OUT replaced by the absolute paths."""
        if not isinstance(value, str):
            return value
        return value.replace("$ROOT", str(self.root)).replace("$OUT", str(self.out))

    def path(self, name: str) -> str:
        """The absolute path of `name`, which is relative to the workspace."""
        # Not a Path: that would tidy up names which are untidy on purpose.
        return os.path.join(self.root, self.fill_in(name))  # noqa: PTH118

    def set_up(self, steps: list[Setup], owner: int | None = None) -> None:
        """Make what the row asks for; all of the workspace belongs to `owner`, if given."""
        for step in steps:
            if "chmod" not in step:
                self._make(step)
        if owner is not None:
            for directory, folders, files in os.walk(self.root):
                for name in (".", *folders, *files):
                    os.lchown(Path(directory, name), owner, owner)
        for step in steps:
            if "chmod" in step:
                name, mode = step["chmod"]
                self.locked.append(Path(self.path(name)))
                self.locked[-1].chmod(int(str(mode), 8))

    def _make(self, step: Setup) -> None:
        (kind,) = [key for key in step if key in SETUP_OPS]
        value = step[kind]
        match kind:
            case "root_symlink":
                if value:
                    self.opened = self.base / "LINK"
                    self.opened.symlink_to(self.root, target_is_directory=True)
            case "race_exchange":
                self.race = (Path(self.path(value[0])), Path(self.path(value[1])))
            case "mkdir":
                os.makedirs(self.path(value), exist_ok=True)  # noqa: PTH103
            case "rawfile":
                self._write(os.fsencode(self.root) + b"/" + bytes.fromhex(value), step, "raw")
            case _:
                first = value[0] if isinstance(value, list) else value
                path = self.path(first)
                os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
                self._make_entry(kind, path, value, step)

    def _make_entry(self, kind: str, path: str, value: Any, step: Setup) -> None:
        match kind:
            case "file":
                self._write(path, step, value)
            case "symlink":
                target = self.fill_in(value[1])
                beside = os.path.join(os.path.dirname(path), target)  # noqa: PTH118, PTH120
                is_directory = os.path.isdir(beside)  # noqa: PTH112
                os.symlink(target, path, target_is_directory=is_directory)  # noqa: PTH211
            case "hardlink":
                os.link(self.path(value[1]), path)
            case "fifo":
                os.mkfifo(path)
            case "socket":
                _make_socket(path)
            case "device":
                _make_device(path, value[1], value[2])
            case "sparse":
                with open(path, "wb") as file:  # noqa: PTH123
                    file.truncate(value[1])

    def _write(self, path: str | bytes, step: Setup, default: str) -> None:
        data = bytes.fromhex(step["hex"]) if "hex" in step else None
        with open(path, "wb") as file:  # noqa: PTH123
            file.write(step.get("text", default).encode() if data is None else data)
        if "mode" in step:
            os.chmod(path, int(str(step["mode"]), 8))  # noqa: PTH101

    def names(self) -> set[str]:
        """Everything there is in the workspace, by name."""
        # Where it exists, fwalk also gets to the end of paths that are too long to be named.
        walk = getattr(os, "fwalk", os.walk)
        return {
            os.path.relpath(os.path.join(directory, name), self.root)  # noqa: PTH118
            for directory, folders, files, *_ in walk(self.root)
            for name in folders + files
        }

    def outside(self) -> dict[str, tuple[object, ...]]:
        """Everything there is beside the workspace: its kind, when it changed, what it holds."""
        found: dict[str, tuple[object, ...]] = {}
        for directory, folders, files in os.walk(self.base):
            if Path(directory) == self.base:
                folders.remove(self.root.name)
            for name in (".", *folders, *files):
                path = Path(directory, name)
                status = path.lstat()
                content: object = None
                if stat.S_ISREG(status.st_mode):
                    content = path.read_bytes()
                elif stat.S_ISLNK(status.st_mode):
                    content = path.readlink()
                found[str(path)] = (status.st_mode, status.st_mtime_ns, content)
        return found


@contextlib.contextmanager
def new_world() -> Iterator[World]:
    """A world in a temporary directory which everybody may enter."""
    base = Path(tempfile.mkdtemp(prefix="world-")).resolve()
    base.chmod(0o755)
    world = World(base)
    try:
        yield world
    finally:
        for path in world.locked:
            path.chmod(0o700)
        shutil.rmtree(base)


def _make_socket(path: str) -> None:
    # The path of a socket must be short, so it is made under its bare name.
    here = Path.cwd()
    folder, name = os.path.split(path)
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    finally:
        os.chdir(here)


def _make_device(path: str, major: int, minor: int) -> None:
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
    except PermissionError:
        raise CannotSetUp("this system does not let us make device nodes") from None
