"""The downloads tool: what it lists, and that no failure looks like an empty folder."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from chapters.ch01.dispatch import settle
from chapters.ch02.file_tools import MAX_MATCHES
from chapters.ch02.local_files import LocalFiles
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Registry
from chapters.ch02.resolving_files import ResolvingFiles
from chapters.ch02.workspace import can_walk, open_workspace
from chapters.ch04.downloads import list_download_files, one_line
from shared.errors import ToolError
from shared.messages import ToolCall, ToolResult
from shared.ports import WorkspaceFiles
from shared.scripted import call
from shared.testing import NoFiles
from shared.tools import Effect, Returned, call_handler

pytestmark = pytest.mark.anyio

ADAPTERS = [
    pytest.param(
        LocalFiles,
        marks=pytest.mark.skipif(not can_walk(), reason="this system cannot walk"),
    ),
    ResolvingFiles,
]


class Listed(NoFiles):
    """A port whose search finds these names, or fails."""

    def __init__(self, *names: str, error: Exception | None = None) -> None:
        self.names, self.error = names, error

    async def glob(self, pattern: str) -> list[str]:
        assert pattern == "*"
        if self.error:
            raise self.error
        return list(self.names)


async def answer(files: WorkspaceFiles, tool_call: ToolCall | None = None) -> ToolResult:
    tool_call = tool_call or call("list_download_files", id="c1")
    registry = Registry([list_download_files(files)], call_handler)

    async def attempt() -> Returned:
        return await registry.invoke(registry.prepare(tool_call))

    return await settle(tool_call, attempt())


async def listed(files: WorkspaceFiles, **arguments: object) -> list[str]:
    result = await answer(files, call("list_download_files", id="c1", **arguments))
    assert result.code is None, result.text
    return result.text.split("\n")


# What it lists


@pytest.mark.parametrize(
    ("extension", "expected", "why"),
    [
        (None, ["B.pdf", "a.PDF", "b.txt", "c.tar.gz"], "no extension: all files, sorted"),
        (".pdf", ["B.pdf", "a.PDF"], "upper and lower case are the same"),
        (".PDF", ["B.pdf", "a.PDF"], "in the argument as well"),
        (".gz", ["c.tar.gz"], "the last part of a name is its extension"),
        (".tar", ["(no matches)"], "and no other part is"),
        (".df", ["(no matches)"], "the whole of it"),
        (".docx", ["(no matches)"], "an empty answer says that it is one"),
    ],
)
async def test_the_extension_chooses(extension: str | None, expected: list[str], why: str) -> None:
    files = MemoryFiles(dict.fromkeys(("b.txt", "a.PDF", "c.tar.gz", "B.pdf"), ""))
    assert await listed(files, extension=extension) == expected, why


async def test_a_name_that_is_all_extension_has_none() -> None:
    files = MemoryFiles({".pdf": "", "a.pdf": ""})
    assert await listed(files, extension=".pdf") == ["a.pdf"]


async def test_of_a_real_folder_only_files_are_listed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "downloads", tmp_path / "secret.pdf"
    (folder / "folder.pdf").mkdir(parents=True)
    (folder / "folder.pdf" / "below.pdf").touch()
    for file in (outside, folder / "b.pdf", folder / "a.pdf"):
        file.touch()
    if can_walk():  # else the right to make links may be missing
        (folder / "link.pdf").symlink_to(outside)
    with open_workspace(folder) as files:
        assert await listed(files, extension=".pdf") == ["a.pdf", "b.pdf"]


async def test_an_empty_folder_says_so(tmp_path: Path) -> None:
    with open_workspace(tmp_path) as files:
        assert await listed(files) == ["(no matches)"]


async def test_a_long_list_ends_and_says_what_was_left_out() -> None:
    files = MemoryFiles({f"{number:05}.txt": "" for number in range(MAX_MATCHES + 2)})
    lines = await listed(files)
    assert len(lines) == MAX_MATCHES + 1
    assert lines[-1] == "... (2 more files; ask for one extension)"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such names")
async def test_a_name_with_a_line_break_is_left_out_by_the_disk(tmp_path: Path) -> None:
    (tmp_path / "a.txt\nb.pdf").touch()
    (tmp_path / "c.pdf").touch()
    with open_workspace(tmp_path) as files:
        assert await listed(files) == ["c.pdf"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a\nb.pdf", r"a\nb.pdf"),
        ("a\r\nb.pdf", r"a\x0d\nb.pdf"),
        ("a\tb.pdf", r"a\tb.pdf"),
        ("a\u2028b.pdf", r"a\u2028b.pdf"),
        ("a\x1b[2Jb.pdf", r"a\x1b[2Jb.pdf"),
        ("a\u202efdp.exe", r"a\u202efdp.exe"),
        ("Übersicht 中文.pdf", "Übersicht 中文.pdf"),
    ],
)
async def test_one_file_is_one_line_whatever_its_name(name: str, shown: str) -> None:
    assert one_line(name) == shown
    assert await listed(Listed(name)) == [shown]


# Failures


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_folder_that_is_gone_is_a_failure(
    adapter: type[LocalFiles | ResolvingFiles], tmp_path: Path
) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    with adapter(folder) as files:
        assert await listed(files) == ["(no matches)"]
        try:
            shutil.rmtree(folder)
        except OSError:
            pytest.skip("this system keeps a folder that is open")
        await check_unreadable(files, tmp_path)


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_a_folder_that_may_not_be_read_is_a_failure(
    adapter: type[LocalFiles | ResolvingFiles], tmp_path: Path
) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    (folder / "a.pdf").touch()
    with adapter(folder) as files:
        folder.chmod(0)
        try:
            if may_list(folder):
                pytest.skip("this user may read everything")
            await check_unreadable(files, tmp_path)
        finally:
            folder.chmod(0o700)


async def test_a_file_in_the_place_of_the_folder_is_a_failure(tmp_path: Path) -> None:
    folder = tmp_path / "downloads"
    folder.mkdir()
    with ResolvingFiles(folder) as files:  # the other adapter holds the folder itself open
        folder.rmdir()
        folder.touch()
        await check_unreadable(files, tmp_path)


@pytest.mark.parametrize("code", ["permission_denied", "file_not_found", "filesystem_error"])
async def test_every_failure_of_the_port_is_one(code: str) -> None:
    await check_unreadable(Listed(error=ToolError(code, "/home/ada/downloads")), Path("/home/ada"))


async def check_unreadable(files: WorkspaceFiles, secret: Path) -> None:
    result = await answer(files)
    assert result.code == "folder_unreadable"
    assert "not mean that it is empty" in result.text
    assert "no matches" not in result.text
    assert str(secret) not in result.text


def may_list(folder: Path) -> bool:
    try:
        list(folder.iterdir())
    except OSError:
        return False
    return True


async def test_a_crash_does_not_tell_its_path() -> None:
    result = await answer(Listed(error=RuntimeError("/home/ada/downloads")))
    assert result.code == "tool_execution_error"
    assert "/home" not in result.text


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ('{"extension": "pdf"}', "invalid_arguments", "no dot"),
        ('{"extension": "."}', "invalid_arguments", "nothing after the dot"),
        ('{"extension": ".p*"}', "invalid_arguments", "a pattern is no extension"),
        ('{"extension": "../.pdf"}', "invalid_arguments", "nor is a path"),
        ('{"extension": ".tar.gz"}', "invalid_arguments", "one dot"),
        ('{"extension": ".pdf\\n"}', "invalid_arguments", "a line break is not the end"),
        ('{"extension": ".pdé"}', "invalid_arguments", "only ASCII"),
        ('{"extension": ""}', "invalid_arguments", "left out is not empty"),
        ('{"extension": 7}', "invalid_arguments", "nothing is converted"),
        ('{"path": "/etc"}', "invalid_arguments", "the model does not choose the folder"),
        ('{"extension": ".pdf", "folder": "."}', "invalid_arguments", "by no name at all"),
        ("[]", "invalid_arguments", "arguments are an object"),
        ('{"extension": ', "invalid_json", "half of them is nothing"),
    ],
)
async def test_a_bad_argument_is_a_failure_and_nothing_is_read(
    arguments: str, code: str, why: str
) -> None:
    result = await answer(NoFiles(), ToolCall("c1", "list_download_files", arguments))
    assert result.code == code, why


@pytest.mark.parametrize("arguments", ["", "{}", "null", '{"extension": null}'])
async def test_no_argument_is_needed(arguments: str) -> None:
    result = await answer(Listed("a.pdf"), ToolCall("c1", "list_download_files", arguments))
    assert (result.code, result.text) == (None, "a.pdf")


# What a model sees of it


def test_the_definition_has_one_optional_argument_and_no_folder() -> None:
    tool = list_download_files(NoFiles())
    assert tool.effect is Effect.READ
    assert tool.spec.name == "list_download_files"
    assert tool.spec.parameters == {
        "type": "object",
        "properties": {
            "extension": {
                "anyOf": [{"type": "string", "pattern": r"^\.[A-Za-z0-9]+$"}, {"type": "null"}],
                "description": "Only files whose name ends like this, such as .pdf.",
            }
        },
        "additionalProperties": False,
    }
