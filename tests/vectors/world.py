"""The world in which one row of safe-path vectors plays: a workspace, and secrets around it."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import socket
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from shared.text import shorten
from tests.vectors.row_forms import SETUP_OPS, read_mode

Setup = dict[str, Any]

SECRET = "SECRET"
NOBODY = 65534
MOST_READ = 1_000_000  # bytes of a file that are compared; a row may make one of a terabyte
# What a system says that cannot do what is asked; with any other error, the row is wrong.
CANNOT = {
    *(errno.EPERM, errno.EACCES, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP),
    *(errno.EFBIG, errno.ENOSPC, errno.EILSEQ),
}


class CannotSetUp(Exception):
    """This machine does not let us make what the row needs; the text says what."""


class UnusableRow(Exception):
    """What the row asks for cannot be made in any world; the text says why."""


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
        """The absolute path of `name`, which is relative to the workspace.

        Raises UnusableRow if that is not in this world: a row is a text that anybody may have
        written, and it must not reach the files of whoever runs it.
        """
        # Not a Path: that would tidy up names which are untidy on purpose.
        path = os.path.join(self.root, self.fill_in(name))  # noqa: PTH118
        tidy = Path(os.path.normpath(path))
        if tidy == self.base or not tidy.is_relative_to(self.base):
            raise UnusableRow(f"{name!a} is outside of the world of the row")
        try:
            if b"\0" in os.fsencode(path):
                raise UnusableRow(f"{name!a} holds NUL")
        except UnicodeEncodeError:
            raise UnusableRow(f"{name!a} is no name of a file here") from None
        return path

    def set_up(self, steps: list[Setup], owner: int | None = None) -> None:
        """Make what the row asks for; all of the workspace belongs to `owner`, if given.

        Raises UnusableRow or CannotSetUp.
        """
        for step in steps:
            if "chmod" not in step:
                self._do(self._make, step)
        if owner is not None:
            for directory, folders, files in os.walk(self.root):
                for name in (".", *folders, *files):
                    os.lchown(Path(directory, name), owner, owner)
        for step in steps:
            if "chmod" in step:
                self._do(self._lock, step)

    def _do(self, work: Callable[[Setup], None], step: Setup) -> None:
        try:
            work(step)
        except OSError as error:
            # Only the number is used: the text holds paths of this machine.
            problem = f"{os.strerror(error.errno or errno.EIO)}: {shorten(ascii(step), 80)}"
            kind = CannotSetUp if error.errno in CANNOT else UnusableRow
            raise kind(problem) from None

    def _lock(self, step: Setup) -> None:
        name, mode = step["chmod"]
        path = Path(self._place(name))
        self._check_no_link(path, name)
        path.chmod(read_mode(mode))
        self.locked.append(path)

    def _make(self, step: Setup) -> None:
        (kind,) = [key for key in step if key in SETUP_OPS]
        value = step[kind]
        match kind:
            case "root_symlink":
                if value:
                    self.opened = self.base / "LINK"
                    self.opened.symlink_to(self.root, target_is_directory=True)
            case "race_exchange":
                self.race = (Path(self._place(value[0])), Path(self._place(value[1])))
            case "mkdir":
                os.makedirs(self._place(value), exist_ok=True)  # noqa: PTH103
            case "rawfile":
                self._write(os.fsdecode(bytes.fromhex(value)), step, "raw")
            case "file":
                self._write(value, step, value)
            case "sparse":
                with self._open(value[0]) as file:
                    file.truncate(value[1])
            case "symlink":
                path, target = self._place(value[0]), self.fill_in(value[1])
                beside = os.path.join(os.path.dirname(path), target)  # noqa: PTH118, PTH120
                is_directory = os.path.isdir(beside)  # noqa: PTH112
                os.symlink(target, path, target_is_directory=is_directory)  # noqa: PTH211
            case "hardlink":
                source = self._place(value[1])
                self._check_no_link(Path(source), value[1])
                os.link(source, self._place(value[0]))
            case "fifo":
                os.mkfifo(self._place(value))
            case "socket":
                _make_socket(self._place(value))
            case "device":
                _make_device(self._place(value[0]), value[1], value[2])

    def _write(self, name: str, step: Setup, default: str) -> None:
        with self._open(name) as file:
            if "hex" in step:
                file.write(bytes.fromhex(step["hex"]))
            else:
                file.write(step.get("text", default).encode())
        if "mode" in step:
            os.chmod(self.path(name), read_mode(step["mode"]))  # noqa: PTH101

    def _open(self, name: str) -> BinaryIO:
        path = self._place(name)
        self._check_no_link(Path(path), name)
        # Opening a pipe would wait for a reader, and a device is not of this world.
        if os.path.lexists(path) and not Path(path).is_file():
            raise UnusableRow(f"{name!a} is there already and is no file")
        return open(path, "wb")  # noqa: PTH123

    def _place(self, name: str) -> str:
        """As `path`, for what is to be made: its directory exists, and no link led out to it."""
        path = self.path(name)
        folder = os.path.dirname(path)  # noqa: PTH120
        nearest = folder
        while not os.path.lexists(nearest):
            nearest = os.path.dirname(nearest)  # noqa: PTH120
        if not _is_beneath(nearest, self.base):
            raise UnusableRow(f"{name!a} leads out of the world of the row")
        os.makedirs(folder, exist_ok=True)  # noqa: PTH103
        return path

    def _check_no_link(self, path: Path, name: str) -> None:
        if path.is_symlink():
            raise UnusableRow(f"{name!a} is a link, which may lead out of the world of the row")

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
                if stat.S_ISREG(status.st_mode) and status.st_size <= MOST_READ:
                    content = path.read_bytes()
                elif stat.S_ISLNK(status.st_mode):
                    content = path.readlink()
                found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_size, content)
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
            if path.exists() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(base)


def _is_beneath(folder: str, base: Path) -> bool:
    if os.open not in os.supports_dir_fd:
        return Path(folder).resolve().is_relative_to(base)
    # Upwards, one directory after the other: the whole path may be too long to be named.
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        wanted = base.stat()
        while not os.path.samestat(os.fstat(here), wanted):
            above = os.open("..", os.O_RDONLY | os.O_DIRECTORY, dir_fd=here)
            at_the_top = os.path.sameopenfile(here, above)
            os.close(here)
            here = above
            if at_the_top:
                return False
    finally:
        os.close(here)
    return True


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
