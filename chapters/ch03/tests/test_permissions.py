"""The layer: everybody is heard, the decision is written down, and only then something runs."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from chapters import ch02, ch03
from chapters.ch01.loop import run as the_loop
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Registry
from chapters.ch03.tests.calls import Person, Says
from shared.decision import Behaviour, Decision
from shared.messages import ToolResult
from shared.plan import Kit
from shared.ports import CommandOutcome, Participant
from shared.scripted import ScriptedModel, call, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, fake_kit, run_script
from shared.tools import PreparedCall, Returned

pytestmark = pytest.mark.anyio


# What the chapter adds


def test_the_chapter_adds_permissions_and_no_tool() -> None:
    kit = fake_kit()
    before, after = ch02.plan(kit), ch03.plan(kit)
    assert ch03.PROFILE.capabilities == (*ch02.PROFILE.capabilities, "permissions")
    assert ch03.PROFILE.tools == ch02.PROFILE.tools
    assert [tool.spec for tool in after.tools] == [tool.spec for tool in before.tools]
    assert [layer.name for layer in before.tool_layers] == ["shell_question"]
    assert [layer.name for layer in after.tool_layers] == ["permissions"]
    assert dataclasses.replace(after, tools=(), tool_layers=()) == dataclasses.replace(
        before, tools=(), tool_layers=()
    )
    assert after.loop is the_loop


@pytest.mark.parametrize(
    "kit",
    [
        dataclasses.replace(fake_kit(), approver=None),
        dataclasses.replace(fake_kit(), audit=None),
    ],
)
def test_nothing_is_built_without_somebody_to_ask_and_an_audit(kit: Kit) -> None:
    with pytest.raises(ValueError, match="somebody to ask and an audit"):
        ch03.plan(kit)


# The default policy


@pytest.mark.parametrize(
    ("tool", "arguments", "asked"),
    [
        ("read_file", {"path": "a.txt"}, 0),
        ("glob", {"pattern": "*"}, 0),
        ("write_file", {"path": "a.txt", "content": "new"}, 1),
        ("edit_file", {"path": "a.txt", "old_text": "old", "new_text": "new"}, 1),
        ("shell", {"command": "ls"}, 1),
    ],
)
@pytest.mark.parametrize("answer", ["yes", "no"])
async def test_reading_passes_and_everything_else_asks(
    tool: str, arguments: dict[str, str], asked: int, answer: str
) -> None:
    files, commands, approver = MemoryFiles({"a.txt": "old"}), FakeCommands(), FakeApprover(answer)
    recording = await run_script(
        ch03.plan,
        [says(call(tool, **arguments)), says("done")],
        files=files,
        commands=commands,
        approver=approver,
    )
    assert len(approver.questions) == asked
    changed = files.files != {"a.txt": b"old"} or commands.commands != []
    assert changed == (asked == 1 and answer == "yes")
    denied = asked == 1 and answer == "no"
    assert recording.results[0].code == ("permission_denied" if denied else None)


async def test_what_is_shown_is_what_runs() -> None:
    command = "  echo 'a  b' \\\n && true "
    commands, approver = FakeCommands(), FakeApprover("yes")
    await run_script(
        ch03.plan,
        [says(call("shell", command=command)), says("done")],
        commands=commands,
        approver=approver,
    )
    assert commands.commands == [command]
    assert all(f"    | {line}" in approver.questions[0] for line in command.split("\n"))


async def test_a_call_that_is_not_valid_is_neither_asked_about_nor_recorded() -> None:
    approver, audit = FakeApprover("yes"), MemoryAudit()
    recording = await run_script(
        ch03.plan,
        [says(call("shell", cmd="ls"), call("no_tool"), call("write_file", path=1)), says("done")],
        approver=approver,
        audit=audit,
    )
    assert [result.code for result in recording.results] == [
        "invalid_arguments",
        "unknown_tool",
        "invalid_arguments",
    ]
    assert approver.questions == []
    assert audit.entries == []


# Who is heard


async def with_participants(*participants: Participant) -> tuple[ToolResult, MemoryAudit]:
    audit = MemoryAudit()
    recording = await run_script(
        ch03.plan,
        [says(call("read_file", path="a.txt")), says("done")],
        files=MemoryFiles({"a.txt": "text"}),
        audit=audit,
        participants=participants,
    )
    return recording.results[0], audit


async def test_everybody_is_heard_even_after_a_no() -> None:
    first, second = Says(Behaviour.DENY, "first"), Says(Behaviour.ALLOW, "second")
    result, audit = await with_participants(first, second)
    assert len(first.heard) == len(second.heard) == 1
    assert result.code == "permission_denied"
    assert audit.entries[0]["source"] == "first"


@pytest.mark.parametrize(
    "broken",
    [
        RuntimeError("secret detail"),
        None,
        True,
        "allow",
        Behaviour.ALLOW.value,
        Decision("allow", "", "", by_person=True),  # type: ignore[arg-type]
        Decision("deny", "", ""),  # type: ignore[arg-type]
        Decision(None, "", ""),  # type: ignore[arg-type]
    ],
)
async def test_a_rule_that_fails_or_says_no_decision_denies(broken: object) -> None:
    result, audit = await with_participants(Says(broken, "broken"))
    assert result.code == "permission_denied"
    assert "Denied by broken: this rule" in result.text
    assert "secret detail" not in result.text
    assert audit.entries[0]["source"] == "broken"


class Nameless:
    """A participant that cannot even say who it is."""

    @property
    def name(self) -> str:
        raise RuntimeError("no name")

    async def decide(self, prepared: PreparedCall) -> Decision:
        return Decision(Behaviour.ALLOW, "", "")


class Meddler:
    """Tries to change the call that was validated."""

    name = "meddler"

    async def decide(self, prepared: PreparedCall) -> Decision:
        prepared.arguments.path = "b.txt"
        return Decision(Behaviour.ALLOW, "", self.name)


@pytest.mark.parametrize("participant", [Nameless(), Meddler()])
async def test_nobody_can_change_a_call_or_pass_without_a_name(participant: Participant) -> None:
    result, audit = await with_participants(participant)
    assert result.code is not None
    assert "text" not in result.text.split()
    (line,) = audit.entries
    assert (line["decision"], line["reason"]) == ("deny", "this rule failed, so nothing is allowed")


@pytest.mark.parametrize(
    ("reason", "text"),
    [("it ends.", "it ends. Do not"), ("it goes on", "it goes on. Do not"), ("a..", "a. Do not")],
)
async def test_a_refusal_is_a_sentence_and_says_what_to_do_next(reason: str, text: str) -> None:
    result, _ = await with_participants(Says(Decision(Behaviour.DENY, reason, "test")))
    assert text in result.text
    assert result.text.endswith("find another way, or ask the user what to do.")


# What is written down, and when


async def test_each_decision_is_one_line_before_anything_runs() -> None:
    happened: list[str] = []

    class Order(MemoryAudit):
        def record(self, entry: Mapping[str, Any]) -> None:
            happened.append(f"{entry['decision']} {entry['call_id']}")

    class Commands(FakeCommands):
        async def run(self, command: str) -> CommandOutcome:
            happened.append(command)
            return await super().run(command)

    def answer(question: str) -> str:
        happened.append("asked")
        return "n" if "rm" in question else "y"

    calls = [call("shell", command="ls"), call("shell", command="rm x"), call("shell", command="w")]
    await run_script(
        ch03.plan,
        [says(*calls), says("done")],
        commands=Commands(),
        approver=Person(answer),
        audit=Order(),
    )
    ids = [each.split()[1] for each in happened if each.startswith(("allow", "deny"))]
    assert len(set(ids)) == 3
    assert happened == [
        "asked",
        f"allow {ids[0]}",
        "ls",
        "asked",
        f"deny {ids[1]}",
        "asked",
        f"allow {ids[2]}",
        "w",
    ]


# Ctrl-C


class Waiting:
    """A person who is looking at the question."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def ask(self, question: str) -> str:
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError("never reached")


@pytest.mark.parametrize("audit", [MemoryAudit(), MemoryAudit(OSError("disk full"))])
async def test_ctrl_c_at_the_question_denies_and_leaves_a_whole_history(audit: MemoryAudit) -> None:
    person, commands = Waiting(), FakeCommands()
    calls = (call("shell", command="ls"), call("shell", command="pwd"))
    kit = fake_kit(
        ScriptedModel([says(*calls), says("hello again")]),
        approver=person,
        audit=audit,
        commands=commands,
    )
    conversation = ch03.plan(kit).build(kit)
    asking = asyncio.create_task(conversation.ask("go"))
    await person.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(asking, timeout=5)
    results = [each for each in conversation.history if isinstance(each, ToolResult)]
    assert [result.code for result in results] == ["interrupted"] * 2
    assert commands.commands == []
    if audit.failure is None:
        (line,) = audit.entries
        assert (line["decision"], line["source"], line["who"]) == ("deny", "interrupt", "nobody")
    assert (await conversation.ask("still there?")).text == "hello again"


async def test_an_interrupt_that_is_raised_goes_through_as_well() -> None:
    audit = MemoryAudit()
    with pytest.raises(asyncio.CancelledError):
        await run_script(
            ch03.plan,
            [says(call("shell", command="ls"))],
            approver=FakeApprover(asyncio.CancelledError()),
            audit=audit,
        )
    assert [line["decision"] for line in audit.entries] == ["deny"]


async def test_parallel_calls_ask_one_after_the_other_and_each_runs_on_its_own_answer() -> None:
    happened: list[str] = []

    class Slow:
        async def ask(self, question: str) -> str:
            name = question.partition("command: ")[2].split("\n")[0]
            happened.append(f"asked {name}")
            for _ in range(5):
                await asyncio.sleep(0)
            happened.append(f"answered {name}")
            return "y" if name in {"one", "three"} else "n"

    commands, audit = FakeCommands(), MemoryAudit()
    kit = fake_kit(approver=Slow(), commands=commands, audit=audit)
    plan = ch03.plan(kit)
    registry = plan.dispatcher(plan.tools, plan.tool_layers[0].wrap(run_handler))
    assert isinstance(registry, Registry)
    names = ["one", "two", "three"]
    prepared = [registry.prepare(call("shell", command=name)) for name in names]
    await asyncio.gather(*[registry.invoke(each) for each in prepared], return_exceptions=True)
    assert happened == [f"{what} {name}" for name in names for what in ("asked", "answered")]
    assert sorted(commands.commands) == ["one", "three"]
    assert [line["decision"] for line in audit.entries] == ["allow", "deny", "allow"]


async def run_handler(prepared: PreparedCall) -> Returned:
    return await prepared.tool.handler(prepared.arguments)
