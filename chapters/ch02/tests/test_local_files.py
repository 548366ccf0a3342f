"""What holds for files on a disk: links, permissions, pipes, and writes that fail half-way."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import stat
import threading
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chapters.ch02.local_files import LocalFiles
from chapters.ch02.resolving_files import ResolvingFiles
from chapters.ch02.workspace import can_walk
from shared.errors import ToolError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not can_walk(), reason="needs names relative to open directories"),
]

DiskFiles = LocalFiles | ResolvingFiles
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "d").mkdir(parents=True)
    (root / "a.txt").write_text("alpha\n")
    (root / "d" / "f.txt").write_text("inside\n")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("SECRET\n")
    return root


@pytest.fixture(params=[LocalFiles, ResolvingFiles], ids=["local", "resolving"])
def files(request: pytest.FixtureRequest, root: Path) -> Iterator[DiskFiles]:
    with request.param(root, fsync=False) as opened:
        yield opened


@pytest.fixture
def local(root: Path) -> Iterator[LocalFiles]:
    with LocalFiles(root, fsync=False) as opened:
        yield opened


async def failure(awaitable: Awaitable[object]) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value


async def code_of(awaitable: Awaitable[object]) -> str:
    return (await failure(awaitable)).code


def names(directory: Path) -> list[str]:
    return sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*"))


# -- links


@pytest.mark.parametrize("target", ["../out", "{out}"], ids=["relative", "absolute"])
async def test_nothing_goes_through_a_link_that_leaves(
    files: DiskFiles, root: Path, target: str
) -> None:
    out = root.parent / "out"
    (root / "esc").symlink_to(target.format(out=out))
    (root / "file").symlink_to(out / "secret.txt")
    (root / "dangling").symlink_to(out / "new.txt")
    before = names(root)
    for path in ("esc/secret.txt", "esc/nope", "esc", "file", "dangling", "esc/new/x.txt"):
        for attempt in (
            files.read_text(path),
            files.write_text(path, "x"),
            files.edit_text(path, "SECRET", "x"),
            files.resolve(path),
        ):
            error = await failure(attempt)
            assert error.code == "path_escape"
            assert str(root.parent) not in error.message
    assert await code_of(files.glob("esc/*")) == "path_escape"
    assert await code_of(files.glob("file")) == "path_escape"
    assert await files.glob("**/*") == ["a.txt", "d/f.txt"]
    assert names(root) == before
    assert names(out) == ["secret.txt"]
    assert (out / "secret.txt").read_text() == "SECRET\n"


async def test_a_link_inside_is_written_through_and_stays_a_link(
    files: DiskFiles, root: Path
) -> None:
    (root / "link.txt").symlink_to("a.txt")
    (root / "in").symlink_to("d")
    (root / "later.txt").symlink_to("d/later.txt")
    await files.write_text("link.txt", "new")
    await files.edit_text("in/f.txt", "inside", "edited")
    await files.write_text("later.txt", "now")
    assert (root / "link.txt").is_symlink()
    assert (root / "later.txt").is_symlink()
    assert (root / "a.txt").read_text() == "new"
    assert (root / "d" / "f.txt").read_text() == "edited\n"
    assert (root / "d" / "later.txt").read_text() == "now"
    assert await files.resolve("in/f.txt") == "d/f.txt"


async def test_a_link_to_nothing_inside_is_a_missing_file(files: DiskFiles, root: Path) -> None:
    (root / "dangling").symlink_to("nope.txt")
    assert await code_of(files.read_text("dangling")) == "file_not_found"
    assert await files.glob("*") == ["a.txt"]


async def test_links_in_a_circle_have_a_code(files: DiskFiles, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert await code_of(files.read_text("a")) == "symlink_loop"
    assert await code_of(files.write_text("a/x.txt", "x")) == "symlink_loop"


async def test_a_workspace_that_is_gone_does_not_look_empty(files: DiskFiles, root: Path) -> None:
    shutil.rmtree(root)
    assert await code_of(files.glob("*")) in {"file_not_found", "path_escape"}


async def test_a_file_where_the_workspace_was_does_not_look_empty(root: Path) -> None:
    with ResolvingFiles(root) as files:
        shutil.rmtree(root)
        root.touch()
        assert await code_of(files.glob("*")) == "not_a_directory"


async def test_glob_enters_a_linked_directory_only_if_it_is_named(
    files: DiskFiles, root: Path
) -> None:
    (root / "in").symlink_to("d")
    (root / "d" / "up").symlink_to("..")
    (root / "d" / "link.txt").symlink_to("f.txt")
    assert await files.glob("in/*.txt") == ["in/f.txt", "in/link.txt"]
    assert await files.glob("*/*.txt") == ["d/f.txt", "d/link.txt"]
    assert await files.glob("**/f.txt") == ["d/f.txt"]


async def test_the_root_itself_may_be_a_link(root: Path) -> None:
    (root.parent / "shortcut").symlink_to(root)
    with LocalFiles(root.parent / "shortcut") as files:
        await files.write_text("d/new.txt", "x")
        assert await files.glob("d/*") == ["d/f.txt", "d/new.txt"]


async def test_the_workspace_is_the_directory_not_its_name(local: LocalFiles, root: Path) -> None:
    root.rename(root.parent / "renamed")
    root.symlink_to("out")
    assert await local.read_text("d/f.txt") == "inside\n"
    assert await code_of(local.read_text("secret.txt")) == "file_not_found"


# -- what is not a file


async def test_a_pipe_or_socket_is_neither_opened_nor_replaced(
    files: DiskFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("sock")
    for path in ("pipe", "sock"):
        assert await code_of(files.read_text(path)) == "not_a_file"
        assert await code_of(files.write_text(path, "x")) == "not_a_file"
        assert await code_of(files.edit_text(path, "x", "y")) == "not_a_file"
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)
    assert await files.glob("*") == ["a.txt"]


async def test_what_is_not_a_file_is_not_even_opened(
    files: DiskFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(root / "pipe")  # opening it would let a waiting writer go on
    opened: list[str] = []
    real_open = os.open

    def note_and_open(name: Any, *args: Any, **kwargs: Any) -> int:
        opened.append(str(name))
        return real_open(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", note_and_open)
    assert await code_of(files.read_text("pipe")) == "not_a_file"
    assert not [name for name in opened if name.endswith("pipe")]


def test_a_file_that_becomes_a_pipe_after_the_look_does_not_hang(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_lstat = os.lstat

    def look_then_exchange(name: str, *, dir_fd: int) -> os.stat_result:
        status = real_lstat(name, dir_fd=dir_fd)
        (root / "a.txt").unlink()
        os.mkfifo(root / "a.txt")
        return status

    codes: list[str] = []

    def read() -> None:
        codes.append(asyncio.run(code_of(local.read_text("a.txt"))))

    monkeypatch.setattr(os, "lstat", look_then_exchange)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(timeout=5)
    assert codes == ["not_a_file"]


async def test_glob_leaves_out_what_no_path_can_name(files: DiskFiles, root: Path) -> None:
    for name in ("two\nlines", "a:b", "dot.", "nul.txt", "~x", "back\\slash"):
        (root / name).touch()
    (root / "bad|directory").mkdir()
    (root / "bad|directory" / "x.txt").touch()
    assert await files.glob("**/*") == ["a.txt", "d/f.txt"]


# -- permissions


async def test_a_file_keeps_its_mode(files: DiskFiles, root: Path) -> None:
    (root / "a.txt").chmod(0o751)
    (root / "d" / "f.txt").chmod(0o602)
    await files.write_text("a.txt", "new")
    await files.edit_text("d/f.txt", "inside", "x")
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o751
    assert stat.S_IMODE((root / "d" / "f.txt").stat().st_mode) == 0o602


async def test_a_new_file_gets_the_mode_every_program_gives(files: DiskFiles, root: Path) -> None:
    mask = os.umask(0o027)
    try:
        await files.write_text("new/n.txt", "x")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((root / "new" / "n.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "new").stat().st_mode) == 0o750


async def test_a_read_only_file_is_not_replaced_not_even_by_root(
    files: DiskFiles, root: Path
) -> None:
    (root / "a.txt").chmod(0o444)
    before = (root / "a.txt").stat()
    assert await code_of(files.write_text("a.txt", "x")) == "permission_denied"
    assert await code_of(files.edit_text("a.txt", "alpha", "x")) == "permission_denied"
    assert (root / "a.txt").stat() == before


@pytest.mark.skipif(not IS_ROOT, reason="only root can give files away")
async def test_a_file_keeps_its_owner_if_root_writes(files: DiskFiles, root: Path) -> None:
    os.chown(root / "a.txt", 1234, 1234)
    await files.write_text("a.txt", "x")
    assert ((root / "a.txt").stat().st_uid, (root / "a.txt").stat().st_gid) == (1234, 1234)


@pytest.mark.skipif(IS_ROOT, reason="root may do everything")
async def test_what_the_system_refuses_is_permission_denied(files: DiskFiles, root: Path) -> None:
    (root / "a.txt").chmod(0)
    (root / "d").chmod(0o500)
    assert await code_of(files.read_text("a.txt")) == "permission_denied"
    assert await code_of(files.write_text("d/new.txt", "x")) == "permission_denied"
    (root / "d").chmod(0o700)


# -- all or nothing


async def test_other_names_and_readers_of_a_replaced_file_keep_the_old_text(
    files: DiskFiles, root: Path
) -> None:
    outside = root.parent / "out" / "secret.txt"
    (root / "hard.txt").hardlink_to(outside)
    with (root / "hard.txt").open() as reader:
        await files.edit_text("hard.txt", "SECRET", "x")
        assert reader.read() == "SECRET\n"
    assert outside.read_text() == "SECRET\n"
    assert (root / "hard.txt").read_text() == "x\n"


@pytest.mark.parametrize("step", ["write", "fsync", "replace", "close"])
@pytest.mark.parametrize("path", ["a.txt", "new/deep/x.txt"])
@pytest.mark.parametrize("adapter", [LocalFiles, ResolvingFiles])
async def test_a_write_that_fails_half_way_leaves_no_trace(
    root: Path, step: str, path: str, adapter: type[DiskFiles], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(root)

    real_close = os.close

    def fail(*args: object, **kwargs: object) -> None:
        if step == "close":
            real_close(args[0])  # type: ignore[arg-type]
            if len(names(root)) == len(before):
                return  # only the temporary file's, not a directory's on the way
        raise OSError(errno.ENOSPC, "text of the system", str(root))

    with adapter(root, fsync=True) as files:
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            error = await failure(files.write_text(path, "half"))
        assert error.code == "no_space"
        assert str(root) not in error.message
        assert names(root) == before
        assert (root / "a.txt").read_text() == "alpha\n"
        await files.write_text(path, "whole")
    assert (root / path).read_text() == "whole"


@pytest.mark.parametrize(
    ("number", "code"), [(errno.EIO, "filesystem_error"), (errno.EDQUOT, "no_space")]
)
async def test_the_words_of_the_system_are_not_passed_on(
    files: DiskFiles, root: Path, number: int, code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> int:
        raise OSError(number, f"about {root}", str(root))

    monkeypatch.setattr(os, "write", fail)
    error = await failure(files.write_text("a.txt", "x"))
    assert error.code == code
    assert "'a.txt'" in error.message
    assert str(root) not in error.message
    assert error.__suppress_context__


async def test_a_directory_that_somebody_else_made_is_not_removed(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_mkdir = os.mkdir

    def come_too_late(name: str, *, dir_fd: int) -> None:
        real_mkdir(name, dir_fd=dir_fd)
        real_mkdir(name, dir_fd=dir_fd)

    def fail(*args: object) -> int:
        raise OSError(errno.ENOSPC, "")

    monkeypatch.setattr(os, "mkdir", come_too_late)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", fail)
        assert await code_of(local.write_text("theirs/x.txt", "x")) == "no_space"
    assert (root / "theirs").is_dir()
    await local.write_text("theirs/y.txt", "y")
    assert names(root / "theirs") == ["y.txt"]


async def test_an_interrupted_write_leaves_no_trace(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = names(root)

    def interrupt(*args: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        await local.write_text("new/x.txt", "half")
    assert names(root) == before


async def test_a_system_that_takes_few_bytes_at_a_time_gets_them_all(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda target, data: real_write(target, data[:3]))
    await local.write_text("a.txt", "0123456789")
    assert (root / "a.txt").read_text() == "0123456789"


async def test_a_name_of_full_length_can_be_written(local: LocalFiles, root: Path) -> None:
    await local.write_text("n" * 255, "x")
    assert (root / ("n" * 255)).read_text() == "x"


@pytest.mark.parametrize("fsync", [True, False])
async def test_a_write_reaches_the_disk_before_it_counts_if_asked_to(
    root: Path, fsync: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("fsync")
        real_fsync(descriptor)

    def note_replace(*names: str, **directories: Any) -> None:
        steps.append("replace")
        real_replace(*names, **directories)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    with LocalFiles(root, fsync=fsync) as files:
        await files.write_text("a.txt", "x")
    assert steps == (["fsync", "replace", "fsync"] if fsync else ["replace"])


# -- exchanged at the worst moment


async def test_a_file_that_becomes_a_link_after_the_look_is_not_opened(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_lstat = os.lstat

    def look_then_exchange(name: str, *, dir_fd: int) -> os.stat_result:
        status = real_lstat(name, dir_fd=dir_fd)
        (root / "a.txt").unlink()
        (root / "a.txt").symlink_to("../out/secret.txt")
        return status

    monkeypatch.setattr(os, "lstat", look_then_exchange)
    assert await code_of(local.read_text("a.txt")) == "conflict"


async def test_a_directory_that_becomes_a_link_after_the_look_is_not_searched(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def exchange_then_open(name: Any, *args: Any, **kwargs: Any) -> int:
        if name == "d":
            (root / "d").rename(root / "moved")
            (root / "d").symlink_to("../out")
        return real_open(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", exchange_then_open)
    assert await local.glob("**/*") == ["a.txt"]


async def test_a_write_ends_in_the_directory_that_was_walked_to(
    local: LocalFiles, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_replace = os.replace

    def exchange_then_replace(*names: str, **directories: Any) -> None:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to("../out")
        real_replace(*names, **directories)

    monkeypatch.setattr(os, "replace", exchange_then_replace)
    await local.write_text("d/new.txt", "x")
    assert (root / "moved" / "new.txt").read_text() == "x"
    assert names(root.parent / "out") == ["secret.txt"]


async def test_the_fallback_reads_nothing_from_a_file_that_turns_out_to_be_outside(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_realpath = os.path.realpath
    (root / "d" / "secret.txt").write_text("public\n")
    with ResolvingFiles(root) as files:

        def resolve_then_exchange(path: object, *, strict: bool) -> str:
            resolved = real_realpath(str(path), strict=strict)
            if not (root / "moved").exists():
                (root / "d").rename(root / "moved")
                (root / "d").symlink_to("../out")
            return resolved

        monkeypatch.setattr(os.path, "realpath", resolve_then_exchange)
        assert await code_of(files.read_text("d/secret.txt")) == "path_escape"


# -- descriptors


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc to count descriptors")
async def test_no_descriptor_stays_open(root: Path) -> None:
    (root / "esc").symlink_to("../out")

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    with LocalFiles(root) as files:
        await files.write_text("x/y/z.txt", "alpha")
        await files.edit_text("x/y/z.txt", "alpha", "beta")
        await files.glob("**/*.txt")
        await files.resolve("x/y/z.txt")
        for path in ("nope", "d", "esc/x", "a.txt/x", "../x", "x/y"):
            await failure(files.read_text(path))
            await failure(files.edit_text(path, "a", "b"))
        for path in ("d", "esc/x", "a.txt/x", "../x"):
            await failure(files.write_text(path, "x"))
        await failure(files.edit_text("a.txt", "nope", "x"))
    assert opened() == before


async def test_a_closed_workspace_fails_and_touches_nothing(root: Path) -> None:
    files = LocalFiles(root)
    files.close()
    files.close()
    assert await code_of(files.read_text("a.txt")) == "filesystem_error"
    assert await code_of(files.write_text("b.txt", "x")) == "filesystem_error"
    assert names(root) == ["a.txt", "d", "d/f.txt"]
