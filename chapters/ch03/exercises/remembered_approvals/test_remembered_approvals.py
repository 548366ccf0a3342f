"""What `RememberedApprovals` promises: which yes lasts, for which call, and against whom."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from chapters.ch02.memory_files import MemoryFiles
from chapters.ch03.exercises.trial import TOOLS, prepared, some_tool
from chapters.ch03.session import Scope
from shared.decision import Behaviour, Decision
from shared.messages import ToolCall
from shared.plan import Kit, Plan
from shared.ports import Participant
from shared.scripted import call, says
from shared.testing import FakeCommands, MemoryAudit, run_script
from shared.tools import Effect, PreparedCall

pytestmark = pytest.mark.anyio

ONE = "chapters/ch03/README.md#one-approval-one-call"
VALUE = "chapters/ch03/README.md#a-decision-is-a-value"
YES = "chapters/ch03/README.md#a-yes-from-earlier"
QUESTION = "chapters/ch03/README.md#the-question"
RULES = "chapters/ch03/README.md#rules-in-a-file"

LS = call("shell", command="ls")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the approvals are kept; there is no such file yet."""
    return tmp_path / "approvals.json"


def put(file: Path, content: bytes) -> None:
    file.write_bytes(content)


def get(file: Path) -> bytes:
    return file.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@dataclass
class Says:
    """A participant that always says the same."""

    decision: Decision
    name: str = "somebody"

    async def decide(self, prepared: PreparedCall) -> Decision:
        return self.decision


@dataclass
class Session:
    """What came of one start of the program: what ran, what was asked and what was warned of."""

    ran: list[str] = field(default_factory=list)
    codes: list[str | None] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    audit: MemoryAudit = field(default_factory=MemoryAudit)


async def session(
    target: ModuleType,
    file: Path,
    *calls: ToolCall,
    answers: Sequence[str] = (),
    participants: tuple[Participant, ...] = (),
) -> Session:
    """Start chapter 3's agent anew, let its model make the calls, and type the answers.

    Whoever is asked more often than there are answers says no.
    """
    outcome, typed = Session(), list(answers)
    approvals = target.RememberedApprovals(file, outcome.warnings.append)

    class Person:
        async def ask(self, question: str) -> str:
            outcome.questions.append(question)
            return typed.pop(0) if typed else "no"

    runner, files = FakeCommands(), MemoryFiles()
    recording = await run_script(
        planned(target, approvals),
        [*(says(each) for each in calls), says("done")],
        files=files,
        commands=runner,
        approver=Person(),
        audit=outcome.audit,
        participants=participants,
    )
    outcome.ran, outcome.files = runner.commands, files.files
    outcome.codes = [result.code for result in recording.results]
    return outcome


def planned(target: ModuleType, approvals: Any) -> Callable[[Kit], Plan]:
    def plan(kit: Kit) -> Plan:
        made: Plan = target.plan(kit, approvals=approvals)
        return made

    return plan


@pytest.mark.contract(
    "A call approved with `e` runs unasked after a restart; the audit says why.", read=YES
)
async def test_it_survives_a_restart(target: ModuleType, file: Path) -> None:
    first = await session(target, file, LS, answers=["e"])
    second = await session(target, file, LS, LS)
    assert (first.ran, len(first.questions)) == (["ls"], 1)
    assert (second.ran, second.questions) == (["ls", "ls"], [])
    assert [(entry["source"], entry["who"]) for entry in second.audit.entries] == [
        ("remembered", "policy")
    ] * 2
    assert first.warnings == second.warnings == []


@pytest.mark.contract("A changed call is a new question: a blank is enough.", read=ONE)
@pytest.mark.parametrize(
    ("approved", "sent"),
    [
        (call("shell", command="make test"), call("shell", command="make test ")),
        (call("shell", command="make test"), call("shell", command="make  test")),
        (call("shell", command="make test"), call("shell", command="make tests")),
        (call("shell", command="make test"), call("shell", command="make Test")),
        (
            call("write_file", path="a.txt", content="one\n"),
            call("write_file", path="a.txt", content="two\n"),
        ),
        (
            call("write_file", path="a.txt", content="one\n"),
            call("write_file", path="b.txt", content="one\n"),
        ),
        (
            call("write_file", path="a", content="b"),
            call("write_file", path="b", content="a"),
        ),
    ],
)
async def test_a_changed_call_is_asked_about(
    target: ModuleType, file: Path, approved: ToolCall, sent: ToolCall
) -> None:
    await session(target, file, approved, answers=["e"])
    again = await session(target, file, approved)
    changed = await session(target, file, sent)
    assert (again.codes, again.questions) == ([None], []), "the approved call itself"
    assert (len(changed.questions), changed.ran, changed.files) == (1, [], {})


@pytest.mark.contract("The same arguments of another tool are another call.", read=ONE)
async def test_the_tool_counts(target: ModuleType, file: Path) -> None:
    shell = TOOLS["shell"]
    approvals = target.RememberedApprovals(file, pytest.fail)
    approvals.allow(prepared("shell", command="ls"), Scope.PATTERN)
    again = target.RememberedApprovals(file, pytest.fail)
    other = PreparedCall(some_tool("run", Effect.EXECUTE), LS, shell.validate({"command": "ls"}))
    assert (await again.decide(prepared("shell", command="ls"))).behaviour is Behaviour.ALLOW
    assert (await again.decide(other)).behaviour is Behaviour.PASS


@pytest.mark.contract(
    "What counts are the checked arguments, not the JSON text in which they came.", read=ONE
)
async def test_spelling_does_not_matter(target: ModuleType, file: Path) -> None:
    spelled = (
        ToolCall("", "write_file", '{"path": "a.txt", "content": "\u00e9"}'),
        ToolCall("", "write_file", '{ "content":"\\u00e9","path":"a.txt"}'),
    )
    await session(target, file, spelled[0], answers=["e"])
    again = await session(target, file, spelled[1])
    assert (again.questions, again.files) == ([], {"a.txt": "\u00e9".encode()})


@pytest.mark.contract(
    "A yes for once, a yes for a tool and a no end with the session.", read=QUESTION
)
@pytest.mark.parametrize("answer", ["y", "t", "n", "n not now"])
async def test_other_answers_are_not_kept(target: ModuleType, file: Path, answer: str) -> None:
    await session(target, file, LS, answers=[answer])
    again = await session(target, file, LS)
    assert (len(again.questions), again.ran) == (1, [])


@pytest.mark.contract("Within the session, everything is as it was without a file.", read=QUESTION)
async def test_the_session_is_as_before(target: ModuleType, file: Path) -> None:
    writes = [call("write_file", path="a.txt", content=content) for content in ("1", "2")]
    commands = [call("shell", command=command) for command in ("ls", "pwd")]
    first = await session(target, file, *writes, *commands, answers=["e", "t"])
    assert (first.codes, len(first.questions)) == ([None] * 4, 2)
    assert (first.ran, first.files) == (["ls", "pwd"], {"a.txt": b"2"})


@pytest.mark.contract("Approvals add up, from one session to the next.", read=YES)
async def test_approvals_add_up(target: ModuleType, file: Path) -> None:
    calls = [call("shell", command=command) for command in ("ls", "pwd", "whoami")]
    for each in calls:
        await session(target, file, each, answers=["e"])
    again = await session(target, file, *calls)
    assert (again.ran, again.questions) == (["ls", "pwd", "whoami"], [])


@pytest.mark.contract("A remembered yes never outweighs a deny.", read=VALUE)
async def test_deny_wins(target: ModuleType, file: Path) -> None:
    await session(target, file, LS, answers=["e"])
    deny = Says(Decision(Behaviour.DENY, "not today", "somebody"))
    again = await session(target, file, LS, participants=(deny,))
    assert (again.codes, again.ran) == (["permission_denied"], [])


@pytest.mark.contract("Nor a no that was said often enough in this session.", read=ONE)
async def test_a_newer_no_wins(target: ModuleType, file: Path) -> None:
    ls = prepared("shell", command="ls")
    target.RememberedApprovals(file, pytest.fail).allow(ls, Scope.PATTERN)
    again = target.RememberedApprovals(file, pytest.fail)
    for _ in range(10):
        again.deny(ls)
    assert (await again.decide(ls)).behaviour is Behaviour.DENY


@pytest.mark.contract(
    "Who wants to be asked, by a rule of their own, is asked; that answer is not kept.", read=RULES
)
async def test_a_wish_to_be_asked_wins(target: ModuleType, file: Path) -> None:
    wish = Says(Decision(Behaviour.ASK, "always ask me", "rules", by_person=True))
    await session(target, file, LS, answers=["e"], participants=(wish,))
    assert len((await session(target, file, LS, answers=["e"])).questions) == 1, "it was kept"
    assert len((await session(target, file, LS, participants=(wish,))).questions) == 1


BROKEN = {
    "empty": b"",
    "cut off": b'{"approved": ["aaaa',
    "no JSON": b"approved: all",
    "no UTF-8": b'{"approved": ["\xff"]}',
    "a list": b"[]",
    "no key": b"{}",
    "no list": b'{"approved": true}',
    "no text": b'{"approved": [1]}',
    "unknown key": b'{"approved": [], "allow": "everything"}',
    "too deep": b"[" * 100_000,
}


@pytest.mark.contract(
    "From a broken file nothing is remembered; that is said once, and the file stays as it is.",
    read=RULES,
)
@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
async def test_a_broken_file(target: ModuleType, file: Path, content: bytes) -> None:
    put(file, content)
    outcome = await session(target, file, LS, LS, answers=["e"])
    assert len(outcome.warnings) == 1, "what is broken has to be said, and once is enough"
    assert "approvals.json" in outcome.warnings[0]
    assert (outcome.ran, len(outcome.questions)) == (["ls", "ls"], 1), "it lasts for the session"
    assert get(file) == content


@pytest.mark.contract("One bad entry makes the whole file broken.", read=RULES)
async def test_half_a_file_is_not_believed(target: ModuleType, file: Path) -> None:
    await session(target, file, LS, answers=["e"])
    put(file, get(file).replace(b"]", b", 1]"))
    outcome = await session(target, file, LS)
    assert (len(outcome.warnings), len(outcome.questions), outcome.ran) == (1, 1, [])


@pytest.mark.contract("A file that is a folder, or cannot be written, stops nobody.", read=RULES)
@pytest.mark.parametrize("where", ["folder", "missing/approvals.json"])
async def test_what_cannot_be_kept_is_said(target: ModuleType, tmp_path: Path, where: str) -> None:
    (tmp_path / "folder").mkdir()
    outcome = await session(target, tmp_path / where, LS, LS, answers=["e"])
    assert (outcome.ran, len(outcome.questions), len(outcome.warnings)) == (["ls", "ls"], 1, 1)


@pytest.mark.contract("The file holds hashes: neither commands nor secrets in them.", read=ONE)
async def test_the_file_tells_nothing(target: ModuleType, file: Path) -> None:
    secret = call("shell", command="curl --header 'key: hunter2' example.org")
    await session(target, file, secret, answers=["e"])
    text = get(file)
    assert not {word for word in (b"curl", b"hunter2", b"example") if word in text}


@pytest.mark.contract(
    "The file is replaced as a whole: who reads meanwhile sees the old one or the new.", read=RULES
)
async def test_the_file_is_replaced(target: ModuleType, file: Path, tmp_path: Path) -> None:
    await session(target, file, LS, answers=["e"])
    before = get(file)
    os.link(file, tmp_path / "same")  # another name for the file as it is now
    await session(target, file, call("shell", command="pwd"), answers=["e"])
    assert get(tmp_path / "same") == before
    assert get(file) != before
    assert names(tmp_path) == ["approvals.json", "same"]


@pytest.mark.contract("Two workspaces have two files, and share nothing.", read=ONE)
async def test_workspaces_are_apart(target: ModuleType, tmp_path: Path) -> None:
    await session(target, tmp_path / "one.json", LS, answers=["e"])
    assert len((await session(target, tmp_path / "two.json", LS)).questions) == 1
