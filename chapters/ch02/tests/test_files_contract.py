"""What every adapter for workspace files promises, on a disk or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch02.file_content import replace_first
from chapters.ch02.local_files import LocalFiles
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.resolving_files import ResolvingFiles
from chapters.ch02.workspace import can_walk, open_workspace
from shared.errors import ToolError

pytestmark = pytest.mark.anyio

AnyFiles = MemoryFiles | LocalFiles | ResolvingFiles
Contents = dict[str, bytes]


class Workspace:
    """An adapter under test, and a look at the files that does not go through it."""

    def __init__(self, files: AnyFiles, contents: Callable[[], Contents]) -> None:
        self.files = files
        self.contents = contents


START: Contents = {
    "a.txt": b"alpha\nbeta\nalpha\n",
    "windows.txt": b"one\r\ntwo\r\nthree\n",
    "bom.txt": b"\xef\xbb\xbfalpha\n",
    "empty.txt": b"",
    "binary.bin": b"\xff\xfe\x00alpha",
    "d/b.txt": "你好\n".encode(),
    "d/e/c.txt": b"deep",
    "d/e/c.md": b"deep",
    ".hidden/h.txt": b"hidden",
}


@pytest.fixture(params=["memory", "local", "resolving"])
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    if request.param == "memory":
        memory = MemoryFiles(START, max_bytes=100)
        yield Workspace(memory, lambda: dict(memory.files))
        return
    if request.param == "local" and not can_walk():
        pytest.skip("this system cannot open names relative to a directory")
    for path, content in START.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    adapter = LocalFiles if request.param == "local" else ResolvingFiles
    files: LocalFiles | ResolvingFiles = adapter(tmp_path, fsync=False, max_bytes=100)
    with files:
        yield Workspace(files, lambda: on_disk(tmp_path))


def on_disk(root: Path) -> Contents:
    found = {path.relative_to(root).as_posix(): path for path in root.rglob("*")}
    return {name: path.read_bytes() for name, path in found.items() if path.is_file()}


@pytest.fixture
def files(workspace: Workspace) -> AnyFiles:
    return workspace.files


async def code_of(awaitable: object) -> str:
    with pytest.raises(ToolError) as caught:
        await awaitable  # type: ignore[misc]
    assert caught.value.message.isprintable()
    return caught.value.code


# -- reading


async def test_a_file_is_read_as_it_is_line_ends_and_mark_included(files: AnyFiles) -> None:
    assert await files.read_text("windows.txt") == "one\r\ntwo\r\nthree\n"
    assert await files.read_text("bom.txt") == "\ufeffalpha\n"
    assert await files.read_text("./d//b.txt") == "你好\n"
    assert await files.read_text("empty.txt") == ""


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("nope.txt", "file_not_found"),
        ("nope/x.txt", "file_not_found"),
        ("d", "is_a_directory"),
        (".", "is_a_directory"),
        ("a.txt/x", "not_a_directory"),
        ("binary.bin", "invalid_utf8"),
        ("../a.txt", "path_escape"),
        ("/etc/passwd", "path_escape"),
        ("nul", "invalid_path"),
        ("n" * 256, "path_too_long"),
    ],
)
async def test_what_cannot_be_read_has_a_code_whatever_is_tried(
    workspace: Workspace, path: str, code: str
) -> None:
    assert await code_of(workspace.files.read_text(path)) == code
    assert await code_of(workspace.files.edit_text(path, "alpha", "x")) == code
    assert workspace.contents() == START


async def test_a_file_above_the_limit_is_not_read(workspace: Workspace) -> None:
    await workspace.files.write_text("big.txt", "x" * 101)
    assert await code_of(workspace.files.read_text("big.txt")) == "too_large"
    assert await code_of(workspace.files.edit_text("big.txt", "x", "y")) == "too_large"
    await workspace.files.write_text("big.txt", "x" * 100)
    assert await workspace.files.read_text("big.txt") == "x" * 100


# -- writing


async def test_writing_replaces_all_of_a_file_and_nothing_else(workspace: Workspace) -> None:
    assert await workspace.files.write_text("a.txt", "new\r\n") == 5
    assert workspace.contents() == START | {"a.txt": b"new\r\n"}


async def test_writing_creates_the_directories_on_the_way(workspace: Workspace) -> None:
    assert await workspace.files.write_text("new/deep/n.txt", "你好") == 6
    assert workspace.contents() == START | {"new/deep/n.txt": "你好".encode()}


async def test_a_file_may_become_empty(workspace: Workspace) -> None:
    assert await workspace.files.write_text("a.txt", "") == 0
    assert workspace.contents() == START | {"a.txt": b""}


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("d", "is_a_directory"),
        (".", "is_a_directory"),
        ("a.txt/x", "not_a_directory"),
        ("a.txt/new/x", "not_a_directory"),
        ("../x.txt", "path_escape"),
        ("new/../../x.txt", "path_escape"),
        ("new/nul.txt", "invalid_path"),
        ("new/", "invalid_path"),
        ("new/" + "n" * 256, "path_too_long"),
    ],
)
async def test_a_refused_write_changes_nothing(workspace: Workspace, path: str, code: str) -> None:
    assert await code_of(workspace.files.write_text(path, "x")) == code
    assert workspace.contents() == START
    assert await workspace.files.glob("**/*.tmp") == []


async def test_text_that_cannot_be_encoded_is_not_written(workspace: Workspace) -> None:
    for path in ("a.txt", "new/x.txt"):
        assert await code_of(workspace.files.write_text(path, "half \udcff")) == "invalid_utf8"
    assert await code_of(workspace.files.edit_text("a.txt", "alpha", "\udcff")) == "invalid_utf8"
    assert workspace.contents() == START


# -- editing


async def test_only_the_first_occurrence_is_replaced(workspace: Workspace) -> None:
    await workspace.files.edit_text("a.txt", "alpha", "gamma")
    assert workspace.contents() == START | {"a.txt": b"gamma\nbeta\nalpha\n"}


async def test_line_ends_and_mark_around_an_edit_stay(workspace: Workspace) -> None:
    await workspace.files.edit_text("windows.txt", "two", "2")
    await workspace.files.edit_text("bom.txt", "alpha", "a")
    after = workspace.contents()
    assert after["windows.txt"] == b"one\r\n2\r\nthree\n"
    assert after["bom.txt"] == b"\xef\xbb\xbfa\n"


async def test_an_edit_may_delete(workspace: Workspace) -> None:
    await workspace.files.edit_text("d/b.txt", "你好\n", "")
    assert workspace.contents()["d/b.txt"] == b""


@pytest.mark.parametrize("old", ["delta", "ALPHA", "alpha\r\n", "alpha\n\n", "\udcff", ""])
async def test_text_that_is_not_there_changes_nothing(workspace: Workspace, old: str) -> None:
    assert await code_of(workspace.files.edit_text("a.txt", old, "x")) == "text_not_found"
    assert workspace.contents() == START


@given(st.text(max_size=20), st.text("ab\r\n文", min_size=1), st.text(max_size=20), st.text())
@settings(deadline=None)
def test_bytes_outside_the_match_never_change(before: str, old: str, after: str, new: str) -> None:
    data = f"{before}{old}{after}".encode()
    changed = replace_first(data, old, new, "x.txt")
    start = data.index(old.encode())
    end = start + len(old.encode())
    assert changed == data[:start] + new.encode() + data[end:]


# -- finding


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["a.txt", "bom.txt", "empty.txt", "windows.txt"]),
        ("**/c.*", ["d/e/c.md", "d/e/c.txt"]),
        ("d/**/*.txt", ["d/b.txt", "d/e/c.txt"]),
        ("d/**", ["d/b.txt", "d/e/c.md", "d/e/c.txt"]),
        ("./d/*", ["d/b.txt"]),
        ("*/*.txt", [".hidden/h.txt", "d/b.txt"]),
        ("[ab]*.txt", ["a.txt", "bom.txt"]),
        ("a.txt", ["a.txt"]),
        ("d", []),
        (".", []),
        ("A.TXT*", []),
        ("nope/*", []),
        ("a.txt/*", []),
        ("d/nope.txt", []),
        ("{a,bom}.txt", []),
    ],
)
async def test_glob_finds_files_sorted_by_name(
    files: AnyFiles, pattern: str, expected: list[str]
) -> None:
    assert await files.glob(pattern) == expected


async def test_glob_finds_every_file_once(files: AnyFiles) -> None:
    assert await files.glob("**/**/*") == sorted(START)


@pytest.mark.parametrize(
    ("pattern", "code"),
    [("../*", "path_escape"), ("/*", "path_escape"), ("", "invalid_path"), ("~/*", "invalid_path")],
)
async def test_a_pattern_cannot_lead_out(files: AnyFiles, pattern: str, code: str) -> None:
    assert await code_of(files.glob(pattern)) == code


# -- and


async def test_resolve_gives_one_spelling(files: AnyFiles) -> None:
    assert await files.resolve("./d//b.txt") == "d/b.txt"
    assert await files.resolve("new/x.txt") == "new/x.txt"
    assert await files.resolve(".") == "."


async def test_a_path_that_is_no_text_is_refused(files: AnyFiles) -> None:
    assert await code_of(files.read_text(None)) == "invalid_path"  # type: ignore[arg-type]


async def test_a_workspace_is_opened_with_what_this_system_can_do(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as files:
        assert isinstance(files, LocalFiles if can_walk() else ResolvingFiles)
        await files.write_text("x.txt", "x")
    assert on_disk(tmp_path) == {"x.txt": b"x"}


async def test_only_a_directory_that_exists_can_be_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for opener in (open_workspace, ResolvingFiles):
        with pytest.raises(FileNotFoundError):
            opener(tmp_path / "nope")
        with pytest.raises(NotADirectoryError):
            opener(tmp_path / "file")
