"""What `append_file` promises."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chapters import ch02
from chapters.ch02.exercises.trial import (
    AWKWARD,
    PROPERTY,
    Failing,
    Workspace,
    memory_workspace,
    use,
)
from shared.scripted import call, says
from shared.testing import run_script
from shared.tools import Effect

pytestmark = pytest.mark.anyio

PIECES = st.text(alphabet=["a", "é", "😀", "\r", "\n", "\ufeff", "\u2028", " "], max_size=5)


@pytest.mark.contract(
    "What you append stands at the end of the file, and no other file changes.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_the_text_comes_last(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("log.txt", "one\n")
    workspace.put("other.txt", "other\n")
    await use(target.append_file(workspace.files), path="log.txt", content="two\n")
    assert workspace.contents() == {"log.txt": b"one\ntwo\n", "other.txt": b"other\n"}


@pytest.mark.contract(
    "A file that does not exist is created, and so are its folders.",
    read="chapters/ch02/README.md#write_file",
)
async def test_a_missing_file_is_created(target: ModuleType, workspace: Workspace) -> None:
    result = await use(target.append_file(workspace.files), path="logs/may/1.txt", content="one\n")
    assert result.text == "Appended 4 bytes to logs/may/1.txt (now 4)"
    assert workspace.contents() == {"logs/may/1.txt": b"one\n"}


@pytest.mark.contract(
    "The answer counts UTF-8 bytes: those that were added, and those of the whole file now.",
    read="chapters/ch02/README.md#write_file",
)
async def test_the_answer_counts_bytes(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("log.txt", "né\n")
    result = await use(target.append_file(workspace.files), path="log.txt", content="你好")
    assert result.text == "Appended 6 bytes to log.txt (now 10)"


@pytest.mark.contract(
    "Nothing comes between the old text and the new, and no old byte changes.",
    read="chapters/ch02/README.md#edit_file",
)
@given(before=PIECES, content=PIECES)
@example(before=AWKWARD, content="five")
@PROPERTY
async def test_every_byte_stays(target: ModuleType, before: str, content: str) -> None:
    workspace = memory_workspace()
    workspace.put("log.txt", before)
    await use(target.append_file(workspace.files), path="log.txt", content=content)
    assert workspace.contents()["log.txt"] == before.encode() + content.encode()


@pytest.mark.contract(
    "A file that is not text is refused, and stays as it is.",
    read="chapters/ch02/README.md#error-codes",
)
async def test_what_is_not_text_survives(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("photo.jpg", b"\xff\xd8\xff\xe0")
    result = await use(target.append_file(workspace.files), path="photo.jpg", content="two\n")
    assert (result.code, workspace.contents()) == (
        "invalid_utf8",
        {"photo.jpg": b"\xff\xd8\xff\xe0"},
    )


@pytest.mark.contract(
    "A file whose name looks like a pattern is a file like any other.",
    read="chapters/ch02/README.md#glob",
)
async def test_a_name_is_not_a_pattern(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("log[1].txt", "one\n")
    await use(target.append_file(workspace.files), path="log[1].txt", content="two\n")
    assert workspace.contents() == {"log[1].txt": b"one\ntwo\n"}


@pytest.mark.contract(
    "A path that leaves the workspace, or is none, is refused, and nothing is written.",
    read="chapters/ch02/README.md#the-safe-path",
)
@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("../secret.txt", "path_escape"),
        ("/secret.txt", "path_escape"),
        ("logs/../../secret.txt", "path_escape"),
        ("logs", "is_a_directory"),
        ("logs/1.txt/2.txt", "not_a_directory"),
        ("logs/", "invalid_path"),
        ("", "invalid_arguments"),
    ],
)
async def test_a_bad_path_is_refused(
    target: ModuleType, workspace: Workspace, path: str, code: str
) -> None:
    workspace.put("logs/1.txt", "one\n")
    result = await use(target.append_file(workspace.files), path=path, content="two\n")
    assert (result.code, workspace.contents()) == (code, {"logs/1.txt": b"one\n"})


@pytest.mark.contract(
    "A link that leads out of the workspace is not followed.",
    read="chapters/ch02/README.md#the-safe-path",
)
async def test_a_link_does_not_lead_out(
    target: ModuleType, disk: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "workspace" / "log.txt").symlink_to("../secret.txt")
    result = await use(target.append_file(disk.files), path="log.txt", content="two\n")
    assert result.code == "path_escape"
    assert (tmp_path / "secret.txt").read_bytes() == b"secret\n"


@pytest.mark.contract(
    "If the file cannot be read or written, the model is told why, with the port's own code.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize(
    ("method", "code"), [("read_text", "permission_denied"), ("write_text", "no_space")]
)
async def test_a_failure_keeps_its_code(
    target: ModuleType, workspace: Workspace, method: str, code: str
) -> None:
    workspace.put("log.txt", "one\n")
    files = Failing(workspace.files, **{method: code})
    result = await use(target.append_file(files), path="log.txt", content="two\n")
    assert (result.code, workspace.contents()) == (code, {"log.txt": b"one\n"})


@pytest.mark.contract(
    "It is one more tool of chapter 2's agent, and its effect is `write`.",
    read="chapters/ch02/README.md#one-definition",
)
async def test_the_agent_has_one_more_tool(target: ModuleType) -> None:
    workspace = memory_workspace()
    tool = target.append_file(workspace.files)
    assert (tool.name, tool.effect) == ("append_file", Effect.WRITE)

    recording = await run_script(
        lambda kit: ch02.plan(kit).with_tools(target.append_file(kit.files)),
        [
            says(
                call("append_file", path="log.txt", content="one\n"),
                call("append_file", path="log.txt", content="two\n"),
                call("read_file", path="log.txt"),
            ),
            says("Both lines are there."),
        ],
        files=workspace.files,
    )
    assert [result.text for result in recording.results] == [
        "Appended 4 bytes to log.txt (now 4)",
        "Appended 4 bytes to log.txt (now 8)",
        "one\ntwo\n",
    ]
