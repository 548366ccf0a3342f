"""The promises of the budget: what is counted, what is refused, and when it starts afresh."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from chapters.ch01.exercises.transcript import transcript
from shared.errors import ToolError
from shared.messages import ToolResult
from shared.plan import Kit, Plan
from shared.ports import CommandOutcome
from shared.scripted import ScriptedModel, call, last_result, says
from shared.testing import SUCCESS, FakeApprover, fake_kit, run_script

pytestmark = pytest.mark.anyio

PORTS = "chapters/ch01/README.md#ports-and-fakes"
DATA = "chapters/ch01/README.md#failure-is-data"
TIMES = "chapters/ch01/README.md#time-outs-and-ctrl-c"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"


@dataclass
class Clock:
    """A clock that stands still until somebody moves it."""

    now: float = 0

    def __call__(self) -> float:
        return self.now


@dataclass
class Commands:
    """A runner whose commands take as many seconds as they say: `sleep 30` moves the clock by 30.

    Each returns `outcome`, or raises it.
    """

    clock: Clock = field(default_factory=Clock)
    outcome: CommandOutcome | ToolError = SUCCESS
    commands: list[str] = field(default_factory=list)

    async def run(self, command: str) -> CommandOutcome:
        self.commands.append(command)
        self.clock.now += float(command.split()[1]) if command.startswith("sleep") else 0
        if isinstance(self.outcome, ToolError):
            raise self.outcome
        return self.outcome


@dataclass
class Endless:
    """A runner whose commands end only if they are stopped; by then a second has passed."""

    clock: Clock = field(default_factory=Clock)
    stopped: int = 0

    async def run(self, command: str) -> CommandOutcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.stopped += 1
            self.clock.now += 1
            raise
        raise AssertionError("nobody sets the event")


def budget(target: ModuleType, commands: Any, *, seconds: float = 60, characters: int = 100) -> Any:
    return target.RunBudget(commands, seconds=seconds, characters=characters, clock=commands.clock)


async def refusal(runner: Any, command: str) -> ToolError:
    """The refusal of a command that must not run."""
    try:
        outcome = await runner.run(command)
    except ToolError as error:
        return error
    pytest.fail(f"{command!r} was not refused, it returned {outcome}", pytrace=False)


@pytest.mark.contract("A command within the budget returns what it would without one.", read=PORTS)
@pytest.mark.parametrize(
    "outcome",
    [
        CommandOutcome("a\n", 0),
        CommandOutcome("no such file\n", 2),
        CommandOutcome("x", 0, truncated=True),
        CommandOutcome("tick", None, timeout=5),
    ],
)
async def test_within_the_budget_nothing_changes(
    target: ModuleType, outcome: CommandOutcome
) -> None:
    commands = Commands(outcome=outcome)
    assert await budget(target, commands).run("ls") == outcome
    assert commands.commands == ["ls"]


@pytest.mark.contract("When the seconds are used up, no further command runs.", read=DATA)
async def test_seconds_are_for_all_commands_together(target: ModuleType) -> None:
    commands = Commands()
    runner = budget(target, commands, seconds=60)
    await runner.run("sleep 40")
    await runner.run("sleep 20")
    error = await refusal(runner, "ls")
    assert commands.commands == ["sleep 40", "sleep 20"], "a refused command must not run"
    assert error.code == "budget_spent"
    assert "60 seconds" in error.message, "say which budget is used up"


@pytest.mark.contract(
    "Output beyond the budget is cut, the model is told, and no further command runs.", read=DATA
)
async def test_characters_are_for_all_commands_together(target: ModuleType) -> None:
    commands = Commands(outcome=CommandOutcome("é" * 6, 0))
    runner = budget(target, commands, characters=10)
    assert await runner.run("cat a") == CommandOutcome("é" * 6, 0)
    assert await runner.run("cat b") == CommandOutcome("é" * 4, 0, truncated=True)
    error = await refusal(runner, "cat c")
    assert commands.commands == ["cat a", "cat b"], "a refused command must not run"
    assert error.code == "budget_spent"
    assert "10 characters" in error.message, "say which budget is used up"


@pytest.mark.contract("Output that fits exactly is whole, and not marked as cut.", read=PORTS)
async def test_output_that_fits_exactly_is_whole(target: ModuleType) -> None:
    runner = budget(target, Commands(outcome=CommandOutcome("12345", 0)), characters=5)
    assert await runner.run("cat a") == CommandOutcome("12345", 0)


@pytest.mark.contract("A command that fails costs as much as one that works.", read=DATA)
@pytest.mark.parametrize(
    "outcome",
    [
        CommandOutcome("", 1),
        CommandOutcome("", None, timeout=60),
        ToolError("shell_start_failed", "The command was not started."),
    ],
)
async def test_failures_cost_as_well(
    target: ModuleType, outcome: CommandOutcome | ToolError
) -> None:
    commands = Commands(outcome=outcome)
    runner = budget(target, commands, seconds=60)
    with suppress(ToolError):
        await runner.run("sleep 60")
    assert (await refusal(runner, "ls")).code == "budget_spent"
    assert commands.commands == ["sleep 60"]


@pytest.mark.contract("A command that is still running when time is up is stopped.", read=TIMES)
async def test_a_running_command_is_stopped_in_time(target: ModuleType) -> None:
    commands = Endless()
    runner = budget(target, commands, seconds=0.01)
    try:
        async with asyncio.timeout(1):
            first = await refusal(runner, "tail -f log")
            second = await refusal(runner, "tail -f log")
    except TimeoutError:
        pytest.fail("the budget is 0.01 seconds; after 1 second the command still ran", False)
    assert (first.code, second.code) == ("budget_spent", "budget_spent")
    assert commands.stopped == 1, "one command to stop; the second must not run"


@pytest.mark.contract(
    "A refusal is a result: the run goes on, and the model can answer.", read=DATA
)
async def test_the_model_reads_the_refusal_and_answers(target: ModuleType) -> None:
    commands = Commands()
    recording = await run_script(
        spending(target, commands, seconds=60),
        [
            says(call("shell", command="sleep 61")),
            says(call("shell", command="ls")),
            lambda request: says(f"I read: {last_result(request).text}"),
        ],
        commands=commands,
        approver=FakeApprover("yes"),
    )
    seen = transcript(recording.messages)
    assert recording.error is None, seen
    assert [result.code for result in recording.results] == [None, "budget_spent"], seen
    assert recording.reply is not None
    assert "60 seconds" in recording.reply.text, seen


@pytest.mark.contract("The time a person takes to answer is not charged.", read=PORTS)
async def test_thinking_time_is_free(target: ModuleType) -> None:
    commands = Commands()

    class Slow(FakeApprover):
        async def ask(self, question: str) -> str:
            commands.clock.now += 3600
            return await super().ask(question)

    recording = await run_script(
        spending(target, commands, seconds=60),
        [says(call("shell", command="ls")), says(call("shell", command="ls")), says("done")],
        commands=commands,
        approver=Slow("yes"),
    )
    assert commands.commands == ["ls", "ls"], transcript(recording.messages)


@pytest.mark.contract("Each run has the whole budget again.", read=PLACES)
async def test_each_run_starts_afresh(target: ModuleType) -> None:
    commands = Commands(outcome=CommandOutcome("12345", 0))
    model = ScriptedModel([says(call("shell", command="sleep 60")), says("done")] * 2)
    kit = fake_kit(model, commands=commands, approver=FakeApprover("yes"))
    conversation = spending(target, commands, seconds=60, characters=5)(kit).build(kit)
    await conversation.ask("first")
    await conversation.ask("second")
    results = [message for message in conversation.history if isinstance(message, ToolResult)]
    assert [result.text for result in results] == ["12345"] * 2, transcript(conversation.history)


@pytest.mark.contract("Two agents do not share a budget.", read=PLACES)
async def test_agents_do_not_share_a_budget(target: ModuleType) -> None:
    commands = Commands(outcome=CommandOutcome("12345", 0))
    for _ in range(2):
        recording = await run_script(
            spending(target, commands, characters=5),
            [says(call("shell", command="ls")), says("done")],
            commands=commands,
            approver=FakeApprover("yes"),
        )
        assert recording.results[0].code is None, transcript(recording.messages)


def spending(
    target: ModuleType, commands: Commands, *, seconds: float = 60, characters: int = 100
) -> Callable[[Kit], Plan]:
    """The plan under test, with these limits."""

    def plan(kit: Kit) -> Plan:
        made: Plan = target.plan(kit, seconds=seconds, characters=characters, clock=commands.clock)
        return made

    return plan
