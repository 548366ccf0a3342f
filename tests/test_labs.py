"""The labs: each one passes, and each of its facts can fail when the agent is broken."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import labs
from chapters import ch01, ch02, ch03
from chapters.ch03.boundary import WorkspaceBoundary
from labs import ch01_loop_and_shell, ch02_file_tools, ch03_permissions
from labs.terminal import AlwaysYes
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.plan import Kit, Plan
from shared.ports import WorkspaceFiles
from shared.tools import Invoke, PreparedCall, Returned, ToolLayer

pytestmark = pytest.mark.anyio

LABS = [
    importlib.import_module(f"labs.{path.stem}")
    for path in sorted(Path(labs.__path__[0]).glob("ch[0-9][0-9]_*.py"))
]

Planner = Callable[[Kit], Plan]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.__name__)
async def test_a_lab_passes_and_leaves_nothing_behind(
    lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    assert await lab.run(out=out), out.getvalue()
    assert "✗" not in out.getvalue()
    assert list(tmp_path.iterdir()) == []


async def test_a_lab_can_keep_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    await ch02_file_tools.run(keep=True, out=out)
    (folder,) = tmp_path.iterdir()
    assert (folder / "workspace" / "demo" / "note.txt").read_bytes() == b"gamma\nalpha\n"
    assert str(folder) in out.getvalue()


async def failed_facts(lab: ModuleType, plan: Planner) -> list[str]:
    """The facts that do not hold for a broken agent."""
    out = io.StringIO()
    assert not await lab.run(out=out, plan=plan), out.getvalue()
    return [line.strip("✗ ") for line in out.getvalue().splitlines() if "✗" in line]


# Lab 1


def without_question(kit: Kit) -> Plan:
    return dataclasses.replace(ch01.plan(kit), tool_layers=())


def with_layer(
    base: Planner, act: Callable[[Invoke, PreparedCall], Awaitable[Returned]]
) -> Planner:
    def wrap(invoke: Invoke) -> Invoke:
        return lambda prepared: act(invoke, prepared)

    return lambda kit: base(kit).with_tool_layer(ToolLayer("broken", wrap))


async def canned(invoke: Invoke, prepared: PreparedCall) -> Returned:
    await invoke(prepared)
    return "amber-0000"


async def hide_failures(invoke: Invoke, prepared: PreparedCall) -> Returned:
    try:
        return await invoke(prepared)
    except ToolError:
        return "ok"


def without_tools_on_offer(kit: Kit) -> Plan:
    plan = ch01.plan(kit)

    def mute(tools: Any, invoke: Invoke) -> Any:
        dispatcher = plan.dispatcher(tools, invoke)
        dispatcher.specs = ()  # type: ignore[misc]
        return dispatcher

    return plan.with_dispatcher(mute)


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (without_question, "the refused command changed nothing: code.txt is still there"),
        (without_question, "a person was asked before each of the three commands"),
        (with_layer(ch01.plan, canned), "the answer holds the code word from the file"),
        (
            with_layer(ch01.plan, hide_failures),
            "a refusal and a failing command came back as data, and the run went on",
        ),
        (without_tools_on_offer, "every request offered the tool shell"),
    ],
)
async def test_lab_one_notices_a_broken_agent(broken: Planner, fact: str) -> None:
    assert fact in await failed_facts(ch01_loop_and_shell, broken)


# Lab 2


class BrokenFiles:
    """Passes everything on to real files, but for one method that a test replaces."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self.files = files

    async def read_text(self, path: str) -> str:
        return await self.files.read_text(path)

    async def write_text(self, path: str, content: str) -> int:
        return await self.files.write_text(path, content)

    async def edit_text(self, path: str, old: str, new: str) -> None:
        await self.files.edit_text(path, old, new)

    async def glob(self, pattern: str) -> list[str]:
        return await self.files.glob(pattern)

    async def resolve(self, path: str) -> str:
        return await self.files.resolve(path)


class EditsEverything(BrokenFiles):
    async def edit_text(self, path: str, old: str, new: str) -> None:
        text = await self.files.read_text(path)
        await self.files.write_text(path, text.replace(old, new))


class WritesNothing(BrokenFiles):
    async def write_text(self, path: str, content: str) -> int:
        return len(content)


class FindsAbsolutePaths(BrokenFiles):
    async def glob(self, pattern: str) -> list[str]:
        return [f"/workspace/{path}" for path in await self.files.glob(pattern)]


class ReadsAnything(BrokenFiles):
    root: Path

    async def read_text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")


def with_files(broken: type[BrokenFiles]) -> Planner:
    return lambda kit: ch02.plan(dataclasses.replace(kit, files=broken(kit.files)))


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (EditsEverything, "only the first alpha became gamma, on the disk"),
        (WritesNothing, "only the first alpha became gamma, on the disk"),
        (WritesNothing, "read_file returned what edit_file had written"),
        (FindsAbsolutePaths, "glob found the file by a relative path"),
        (ReadsAnything, "the way out was refused as path_escape"),
        (ReadsAnything, "no request ever held the text of ../secret.txt"),
    ],
)
async def test_lab_two_notices_a_broken_agent(
    broken: type[BrokenFiles], fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def folder(**_: object) -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setattr(ch02_file_tools, "throw_away_folder", folder)
    monkeypatch.setattr(ch02_file_tools, "READS", 10)
    monkeypatch.setattr(ReadsAnything, "root", tmp_path / "workspace", raising=False)
    assert fact in await failed_facts(ch02_file_tools, with_files(broken))


async def test_lab_two_notices_a_reader_that_can_be_raced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader that leaks for certain stands for one that leaks now and then."""

    async def leaking(read: Callable[[], Awaitable[str]]) -> int:
        return 1

    monkeypatch.setattr(ch02_file_tools, "count_leaks", leaking)
    assert "under attack the walk never read the outside file" in await failed_facts(
        ch02_file_tools, ch02.plan
    )


# Lab 3


def with_kit(**changed: Any) -> Planner:
    return lambda kit: ch03.plan(dataclasses.replace(kit, **changed))


class NaivePrefix:
    """Allows what begins with the right word, whatever comes after it."""

    name = "rules"

    async def decide(self, prepared: PreparedCall) -> Decision:
        command = getattr(prepared.arguments, "command", "")
        says = Behaviour.ALLOW if command.startswith("echo") else Behaviour.PASS
        return Decision(says, "it begins with echo", self.name, by_person=True)


def with_naive_prefix(kit: Kit) -> Plan:
    return ch03.plan(dataclasses.replace(kit, participants=(*kit.participants, NaivePrefix())))


async def no_reason(invoke: Invoke, prepared: PreparedCall) -> Returned:
    try:
        return await invoke(prepared)
    except ToolError as error:
        raise ToolError(error.code, "Denied.") from None


class AuditOfRefusals:
    """Writes down nothing but refusals."""

    def __init__(self, kit: Kit) -> None:
        assert kit.audit is not None
        self.audit = kit.audit

    def record(self, entry: Mapping[str, Any]) -> None:
        if entry["decision"] == "deny":
            self.audit.record(entry)


def with_audit_of_refusals(kit: Kit) -> Plan:
    return ch03.plan(dataclasses.replace(kit, audit=AuditOfRefusals(kit)))


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (ch02.plan, "the file that a rule protects is unchanged"),
        (ch02.plan, "no tool ran without a line in the audit that allows it"),
        (with_kit(participants=()), "allow: a rule of the file let the draft through"),
        (
            with_kit(participants=()),
            "a person was asked three times: where no rule decided, and nowhere else",
        ),
        (with_kit(approver=AlwaysYes()), "ask: the person said no to replacing the plan"),
        (with_kit(approver=AlwaysYes()), "the plan has its first line and one more"),
        (with_naive_prefix, 'the rule that allows "echo" allowed no second command'),
        (with_layer(ch03.plan, no_reason), "the reason for the no reached the model"),
        (with_layer(ch03.plan, no_reason), "the plan has its first line and one more"),
        (
            with_layer(ch03.plan, hide_failures),
            "every refusal has a line in the audit that denies it",
        ),
        (
            with_audit_of_refusals,
            "the audit holds one line for every call, in the order of the calls",
        ),
        (with_audit_of_refusals, "pass: nobody objects to reading, so it is allowed"),
    ],
)
async def test_lab_three_notices_a_broken_agent(broken: Planner, fact: str) -> None:
    assert fact in await failed_facts(ch03_permissions, broken)


async def test_lab_three_notices_a_boundary_that_lets_everything_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def everything(self: WorkspaceBoundary, prepared: PreparedCall) -> Decision:
        return Decision(Behaviour.PASS, "looks fine", self.name)

    monkeypatch.setattr(WorkspaceBoundary, "decide", everything)
    assert "deny: the boundary stopped the way out" in await failed_facts(
        ch03_permissions, ch03.plan
    )
