"""What `WriteBudget` promises: what it counts, what it denies, and when it starts afresh."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Registry
from chapters.ch03.exercises.trial import prepared, some_tool
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.events import RunStarted
from shared.messages import AssistantMessage, ToolCall, ToolResult
from shared.plan import Kit, Plan
from shared.scripted import ScriptedModel, call, last_result, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, fake_kit, run_script
from shared.tools import Effect, PreparedCall, wrap_layers

pytestmark = pytest.mark.anyio

EFFECT = "chapters/ch03/README.md#decide-by-effect"
VALUE = "chapters/ch03/README.md#a-decision-is-a-value"
AUDIT = "chapters/ch03/README.md#the-audit"
ONE = "chapters/ch03/README.md#one-approval-one-call"


def write(path: str) -> ToolCall:
    return call("write_file", path=path, content="new\n")


@dataclass
class Answers:
    """Somebody who gives these answers one after the other, then says yes."""

    answers: list[str] = field(default_factory=list)
    asked: int = 0

    async def ask(self, question: str) -> str:
        self.asked += 1
        return self.answers.pop(0) if self.answers else "yes"


@dataclass
class Trial:
    """What came of a run: what is in the files, who was asked, and how each call ended."""

    codes: list[str | None]
    texts: list[str]
    files: dict[str, bytes]
    asked: int
    audit: MemoryAudit
    reply: AssistantMessage | None


async def trial(
    target: ModuleType,
    calls: Sequence[ToolCall],
    *,
    writes: int,
    answers: Sequence[str] = (),
    **kit: Any,
) -> Trial:
    """Run chapter 3's agent with a budget; its model makes these calls, one a turn."""
    files, approver = MemoryFiles({"a.txt": "one\n"}), Answers(list(answers))
    kit.setdefault("audit", MemoryAudit())
    recording = await run_script(
        planned(target, writes),
        [
            *(says(each) for each in calls),
            lambda request: says(f"I read: {last_result(request).text}"),
        ],
        files=files,
        approver=approver,
        **kit,
    )
    return Trial(
        [result.code for result in recording.results],
        [result.text for result in recording.results],
        files.files,
        approver.asked,
        kit["audit"],
        recording.reply,
    )


def planned(target: ModuleType, writes: int) -> Callable[[Kit], Plan]:
    def plan(kit: Kit) -> Plan:
        made: Plan = target.plan(kit, writes=writes)
        return made

    return plan


@pytest.mark.contract("N writes run; the one after them does not.", read=EFFECT)
@pytest.mark.parametrize("writes", [0, 1, 2])
async def test_n_writes_run(target: ModuleType, writes: int) -> None:
    outcome = await trial(target, [write(f"{n}.txt") for n in range(4)], writes=writes)
    assert outcome.codes == [None] * writes + ["permission_denied"] * (4 - writes)
    assert sorted(outcome.files) == [f"{n}.txt" for n in range(writes)] + ["a.txt"]


@pytest.mark.contract("Nobody is asked about a write that the budget denies.", read=VALUE)
async def test_nobody_is_asked_in_vain(target: ModuleType) -> None:
    outcome = await trial(target, [write("1.txt"), write("2.txt"), write("3.txt")], writes=1)
    assert outcome.asked == 1


@pytest.mark.contract("The model reads how large the budget was, and the run goes on.", read=VALUE)
async def test_the_model_reads_why(target: ModuleType) -> None:
    outcome = await trial(target, [write("1.txt"), write("2.txt")], writes=1)
    assert outcome.reply is not None
    assert "writes: 1" in outcome.reply.text


@pytest.mark.contract("The audit names the budget as the source of the denial.", read=AUDIT)
async def test_the_audit_names_the_budget(target: ModuleType) -> None:
    outcome = await trial(target, [write("1.txt"), write("2.txt")], writes=1)
    seen = [(entry["decision"], entry["source"]) for entry in outcome.audit.entries]
    assert seen == [("allow", "user"), ("deny", "write_budget")]


@pytest.mark.contract("A write that a person refuses costs nothing.", read=VALUE)
async def test_what_a_person_refuses_is_free(target: ModuleType) -> None:
    calls = [write("1.txt"), write("2.txt"), write("3.txt"), write("4.txt")]
    outcome = await trial(target, calls, writes=2, answers=["no", "yes", "no"])
    assert sorted(outcome.files) == ["2.txt", "4.txt", "a.txt"]


@pytest.mark.contract("A write that another participant denies costs nothing.", read=VALUE)
async def test_what_somebody_else_denies_is_free(target: ModuleType) -> None:
    class NoSecrets:
        name = "no_secrets"

        async def decide(self, prepared: PreparedCall) -> Decision:
            secret = getattr(prepared.arguments, "path", "") == ".env"
            return Decision(Behaviour.DENY if secret else Behaviour.PASS, "secrets", self.name)

    calls = [write("../outside.txt"), write(".env"), write("1.txt"), write("2.txt")]
    outcome = await trial(target, calls, writes=1, participants=(NoSecrets(),))
    assert sorted(outcome.files) == ["1.txt", "a.txt"]
    assert outcome.asked == 1


@pytest.mark.contract("A write whose decision could not be recorded costs nothing.", read=AUDIT)
async def test_what_is_not_recorded_is_free(target: ModuleType) -> None:
    class FullOnce(MemoryAudit):
        def record(self, entry: Any) -> None:
            super().record(entry)
            if len(self.entries) == 1:
                raise OSError("no space left")

    outcome = await trial(target, [write("1.txt"), write("2.txt")], writes=1, audit=FullOnce())
    assert outcome.codes == ["permission_evaluation_error", None]


@pytest.mark.contract("A call that is not valid costs nothing.", read=VALUE)
async def test_what_is_not_valid_is_free(target: ModuleType) -> None:
    calls = [call("write_file", path="1.txt"), call("delete", path="a.txt"), write("2.txt")]
    outcome = await trial(target, calls, writes=1)
    assert outcome.codes == ["invalid_arguments", "unknown_tool", None]


@pytest.mark.contract("A write that was allowed and then failed has cost what any costs.", read=ONE)
async def test_a_failed_write_counts(target: ModuleType) -> None:
    failing = call("edit_file", path="a.txt", old_text="two", new_text="2")
    outcome = await trial(target, [failing, write("1.txt")], writes=1)
    assert outcome.codes == ["text_not_found", "permission_denied"]


@pytest.mark.contract("Reads and commands cost nothing, and go on when it is used up.", read=EFFECT)
async def test_only_writes_count(target: ModuleType) -> None:
    commands = FakeCommands()
    others = [call("read_file", path="a.txt"), call("shell", command="ls")]
    outcome = await trial(
        target, [*others, *others, write("1.txt"), *others], writes=1, commands=commands
    )
    assert outcome.codes == [None] * 7
    assert commands.commands == ["ls"] * 3


@pytest.mark.contract("The effect of a tool decides, not its name.", read=EFFECT)
async def test_the_effect_decides(target: ModuleType) -> None:
    budget = target.WriteBudget(0)
    decisions = {
        (name, effect): (await budget.decide(prepared(some_tool(name, effect)))).behaviour
        for name in ("write_file", "tidy_up")
        for effect in Effect
    }
    denied = {key for key, behaviour in decisions.items() if behaviour is Behaviour.DENY}
    assert denied == {("write_file", Effect.WRITE), ("tidy_up", Effect.WRITE)}


@pytest.mark.contract(
    "It allows nothing: within the budget it passes, however often heard.", read=VALUE
)
async def test_it_only_passes(target: ModuleType) -> None:
    budget = target.WriteBudget(1)
    budget.listen(RunStarted(20))
    heard = [await budget.decide(prepared("write_file", path="a", content="")) for _ in range(5)]
    assert [decision.behaviour for decision in heard] == [Behaviour.PASS] * 5
    outcome = await trial(target, [write("1.txt")], writes=1, answers=["no"])
    assert sorted(outcome.files) == ["a.txt"]


@pytest.mark.contract("Each run has the whole budget again.", read=EFFECT)
async def test_each_run_starts_afresh(target: ModuleType) -> None:
    files = MemoryFiles()
    model = ScriptedModel([says(write("1.txt"), write("2.txt")), says("done")] * 2)
    kit = fake_kit(model, files=files, approver=FakeApprover("yes"))
    conversation = target.plan(kit, writes=1).build(kit)
    await conversation.ask("first")
    await conversation.ask("second")
    results = [message for message in conversation.history if isinstance(message, ToolResult)]
    assert [result.code for result in results] == [None, "permission_denied"] * 2


@pytest.mark.contract("Two agents do not share a budget.", read=EFFECT)
async def test_agents_do_not_share_a_budget(target: ModuleType) -> None:
    outcomes = [await trial(target, [write("1.txt")], writes=1) for _ in range(2)]
    assert [outcome.codes for outcome in outcomes] == [[None], [None]]


@pytest.mark.contract(
    "Two writes that are decided at the same time cannot both be the last one.", read=ONE
)
async def test_two_at_once(target: ModuleType) -> None:
    files = MemoryFiles()

    class Slow(FakeApprover):
        async def ask(self, question: str) -> str:
            await asyncio.sleep(0)  # the other call is heard meanwhile
            return await super().ask(question)

    kit = fake_kit(files=files, approver=Slow("yes"))
    plan: Plan = target.plan(kit, writes=1)
    registry = plan.dispatcher(plan.tools, wrap_layers(plan.tool_layers))
    assert isinstance(registry, Registry)
    calls = [registry.prepare(call("write_file", path=path, content="")) for path in ("a", "b")]
    outcomes = await asyncio.gather(*map(registry.invoke, calls), return_exceptions=True)
    assert list(files.files) == ["a"]
    assert isinstance(outcomes[1], ToolError), f"two writes, and a budget of one: {outcomes}"
    assert outcomes[1].code == "permission_denied"


@pytest.mark.contract("What the kit and chapter 3 have brought along is still there.", read=VALUE)
async def test_nothing_is_lost(target: ModuleType) -> None:
    class Curious:
        name = "curious"
        heard = 0

        async def decide(self, prepared: PreparedCall) -> Decision:
            self.heard += 1
            return Decision(Behaviour.PASS, "only listening", self.name)

    curious = Curious()
    await trial(target, [write("1.txt")], writes=1, participants=(curious,))
    assert curious.heard == 1
    names = [layer.name for layer in target.plan(fake_kit(), writes=1).tool_layers]
    assert names == ["write_budget", "permissions"]
