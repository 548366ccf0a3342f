"""What `dry_run` promises."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chapters import ch02
from chapters.ch02.exercises.trial import AWKWARD, PROPERTY, Failing, Workspace, memory_workspace
from chapters.ch02.file_tools import EditFile, Glob, WriteFile
from chapters.ch02.registry import define_tool
from shared.messages import ToolCall, ToolResult
from shared.plan import Kit, Plan
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit, run_script
from shared.tools import Effect, Tool

pytestmark = pytest.mark.anyio

LINES = st.lists(st.sampled_from(["a", "b", "a\r", "\u2028", ""]), max_size=3).map("\n".join)
START = "Dry run: nothing was written. "


async def pretend(
    target: ModuleType, workspace: Workspace, *calls: ToolCall, more: tuple[Tool, ...] = ()
) -> list[ToolResult]:
    """The results of `calls`, all in one reply, of chapter 2's agent with the layer around it."""

    def plan(kit: Kit) -> Plan:
        return ch02.plan(kit).with_tools(*more).with_tool_layer(target.dry_run(kit.files))

    recording = await run_script(plan, [says(*calls), says("done")], files=workspace.files)
    return recording.results


@pytest.mark.contract(
    "`write_file` answers with the change as a unified diff, and changes nothing.",
    read="chapters/ch02/README.md#write_file",
)
async def test_a_write_is_shown(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\ntwo\nthree\n")
    new = call("write_file", path="a.txt", content="one\n2\nthree\n")
    (result,) = await pretend(target, workspace, new)
    assert result.text == (
        f"{START}This would change a.txt:\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n"
    )
    assert workspace.contents() == {"a.txt": b"one\ntwo\nthree\n"}


@pytest.mark.contract(
    "`edit_file` answers in the same way; like the real one it would change the first match only.",
    read="chapters/ch02/README.md#edit_file",
)
async def test_an_edit_is_shown(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "alpha\nbeta\nalpha\n")
    edit = call("edit_file", path="a.txt", old_text="alpha", new_text="gamma")
    (result,) = await pretend(target, workspace, edit)
    assert result.text == (
        f"{START}This would change a.txt:\n"
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n-alpha\n+gamma\n beta\n alpha\n"
    )
    assert workspace.contents() == {"a.txt": b"alpha\nbeta\nalpha\n"}


@pytest.mark.contract(
    "A file that would be new is compared with /dev/null; neither it nor a folder comes to be.",
    read="chapters/ch02/README.md#write_file",
)
async def test_a_new_file_is_shown(target: ModuleType, disk: Workspace, tmp_path: Path) -> None:
    new = call("write_file", path="docs/a.txt", content="one\n")
    (result,) = await pretend(target, disk, new)
    assert result.text == (
        f"{START}This would create docs/a.txt:\n"
        "--- /dev/null\n+++ b/docs/a.txt\n@@ -0,0 +1 @@\n+one\n"
    )
    assert list((tmp_path / "workspace").iterdir()) == []


@pytest.mark.contract(
    "An empty file is not a missing one: it would be changed, not created.",
    read="chapters/ch02/README.md#read_file",
)
async def test_an_empty_file_exists(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "")
    (result,) = await pretend(target, workspace, call("write_file", path="a.txt", content="one\n"))
    assert result.text == (
        f"{START}This would change a.txt:\n--- a/a.txt\n+++ b/a.txt\n@@ -0,0 +1 @@\n+one\n"
    )


@pytest.mark.contract(
    "No change, and a new file that is empty, are said in words and not by an empty diff.",
    read="chapters/ch02/README.md#read_file",
)
async def test_an_empty_diff_is_explained(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    results = await pretend(
        target,
        workspace,
        call("write_file", path="a.txt", content="one\n"),
        call("write_file", path="new.txt", content=""),
    )
    assert [result.text for result in results] == [
        f"{START}a.txt would stay as it is.",
        f"{START}This would create new.txt:\n(empty file)",
    ]
    assert workspace.contents() == {"a.txt": b"one\n"}


@pytest.mark.contract(
    "The diff holds the old and the new text exactly, line ends and a missing last one included.",
    read="chapters/ch02/README.md#edit_file",
)
@given(old=LINES, new=LINES)
@example(old="one", new="one\n")
@example(old=AWKWARD, new="")
@PROPERTY
async def test_the_diff_is_exact(target: ModuleType, old: str, new: str) -> None:
    assert rebuild(target.diff("a.txt", old, new)) == ((old, new) if old != new else ("", ""))


def rebuild(diff: str) -> tuple[str, str]:
    """The text before and after, from a diff so small that it shows all lines of both."""
    texts = {"-": "", "+": ""}
    sides = ended = ""
    for line in diff.split("\n")[3:-1]:
        if line == "\\ No newline at end of file":
            texts |= {side: texts[side].removesuffix("\n") for side in sides}
            ended += sides
            continue
        sides = {"-": "-", "+": "+", " ": "-+"}.get(line[:1], "")
        assert sides, f"{line!r} is not a line of a diff, in {diff!r}"
        assert not set(sides) & set(ended), f"{line!r} comes after the last line, in {diff!r}"
        texts |= {side: f"{texts[side]}{line[1:]}\n" for side in sides}
    return texts["-"], texts["+"]


@pytest.mark.contract(
    "Reads work, and see the files as they are: no write before them has happened.",
    read="chapters/ch02/README.md#several-calls-in-one-reply",
)
async def test_reads_see_the_original(target: ModuleType, workspace: Workspace) -> None:
    workspace.put("a.txt", "one\n")
    results = await pretend(
        target,
        workspace,
        call("write_file", path="a.txt", content="two\n"),
        call("write_file", path="b.txt", content="new\n"),
        call("read_file", path="a.txt"),
        call("glob", pattern="*.txt"),
        call("edit_file", path="a.txt", old_text="one", new_text="1"),
    )
    assert [result.text for result in results[2:4]] == ["one\n", "a.txt"]
    assert "-one\n+1\n" in results[4].text


@pytest.mark.contract(
    "What would fail fails in a dry run, too, with the same code and the same message.",
    read="chapters/ch02/README.md#error-codes",
)
@pytest.mark.parametrize(
    ("doomed", "code"),
    [
        (call("edit_file", path="a.txt", old_text="two", new_text="2"), "text_not_found"),
        (call("edit_file", path="none.txt", old_text="two", new_text="2"), "file_not_found"),
        (call("edit_file", path="photo.jpg", old_text="two", new_text="2"), "invalid_utf8"),
        (call("edit_file", path="a.txt", old_text="", new_text="2"), "invalid_arguments"),
        (call("write_file", path="../secret.txt", content="two"), "path_escape"),
        (call("write_file", path="docs", content="two"), "is_a_directory"),
        (call("write_file", path="a.txt/b.txt", content="two"), "not_a_directory"),
    ],
)
async def test_what_would_fail_fails(
    target: ModuleType, workspace: Workspace, doomed: ToolCall, code: str
) -> None:
    workspace.put("a.txt", "one\n")
    workspace.put("docs/b.txt", "one\n")
    workspace.put("photo.jpg", b"\xff\xd8")
    real = await run_script(ch02.plan, [says(doomed), says("done")], files=workspace.files)
    (result,) = await pretend(target, workspace, doomed)
    assert result.code == code
    assert result == real.results[0]


@pytest.mark.contract(
    "`execute` is refused with a message: no command runs, and nobody is asked about one.",
    read="chapters/ch02/README.md#the-gap",
)
async def test_no_command_runs(target: ModuleType) -> None:
    commands, approver = FakeCommands(), FakeApprover("yes")
    recording = await run_script(
        lambda kit: ch02.plan(kit).with_tool_layer(target.dry_run(kit.files)),
        [says(call("shell", command="rm -r .")), says("done")],
        files=memory_workspace().files,
        commands=commands,
        approver=approver,
    )
    (result,) = recording.results
    assert (result.code, commands.commands, approver.questions) == ("dry_run", [], [])
    assert "dry run" in result.text
    assert "shell" in result.text


@pytest.mark.contract(
    "The effect of a tool decides, not its name.",
    read="chapters/ch02/README.md#the-gap",
)
@pytest.mark.parametrize(
    ("name", "effect", "code"),
    [
        ("write_nothing", Effect.READ, None),
        ("read_and_delete", Effect.WRITE, "dry_run"),
        ("read_by_command", Effect.EXECUTE, "dry_run"),
        ("read_mail", Effect.EXTERNAL, "dry_run"),
    ],
)
async def test_the_effect_decides(
    target: ModuleType, name: str, effect: Effect, code: str | None
) -> None:
    ran: list[str] = []

    async def handler(arguments: Glob) -> str:
        ran.append(arguments.pattern)
        return "ran"

    tool = define_tool(name, "A tool.", effect, Glob, handler)
    (result,) = await pretend(target, memory_workspace(), call(name, pattern="*"), more=(tool,))
    assert (result.code, ran) == (code, ["*"] if code is None else [])


@pytest.mark.contract(
    "A tool with another name that writes like `write_file` or `edit_file` is shown, too.",
    read="chapters/ch02/README.md#one-definition",
)
@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        (WriteFile, {"path": "a.txt", "content": "two\n"}),
        (EditFile, {"path": "a.txt", "old_text": "one", "new_text": "two"}),
    ],
)
async def test_the_name_does_not_matter(
    target: ModuleType, arguments: type[WriteFile | EditFile], sent: dict[str, str]
) -> None:
    workspace = memory_workspace()
    workspace.put("a.txt", "one\n")

    async def handler(_: WriteFile | EditFile) -> str:
        raise AssertionError("it ran")

    tool = define_tool("save", "Save.", Effect.WRITE, arguments, handler)
    (result,) = await pretend(target, workspace, call("save", **sent), more=(tool,))
    assert "-one\n+two\n" in result.text


@pytest.mark.contract(
    "The files are not written to, not even to be restored a moment later.",
    read="chapters/ch02/README.md#ports-and-adapters",
)
async def test_nothing_is_written_for_a_moment(target: ModuleType) -> None:
    workspace = memory_workspace()
    workspace.put("a.txt", "one\n")
    codes = {"write_text": "written", "edit_text": "written", "remove": "written"}
    layer = target.dry_run(Failing(workspace.files, **codes))
    recording = await run_script(
        lambda kit: ch02.plan(kit).with_tool_layer(layer),
        [
            says(
                call("write_file", path="a.txt", content="two\n"),
                call("edit_file", path="a.txt", old_text="one", new_text="two"),
            ),
            says("done"),
        ],
        files=workspace.files,
    )
    assert [result.code for result in recording.results] == [None, None]


@pytest.mark.contract(
    "It is one more layer of the plan, outside the question, and its name is `dry_run`.",
    read="chapters/ch02/README.md#the-gap",
)
async def test_it_is_the_outermost_layer(target: ModuleType) -> None:
    plan = ch02.plan(fake_kit())
    dry = plan.with_tool_layer(target.dry_run(memory_workspace().files))
    assert [layer.name for layer in dry.tool_layers] == ["shell_question", "dry_run"]
    assert dry.build(fake_kit())
