"""Fakes for every port, so that a test needs no shell, no disk, no network and no clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shared.events import Event
from shared.messages import AssistantMessage, ToolResult
from shared.plan import Kit, Plan
from shared.ports import (
    Approver,
    Audit,
    Clock,
    CommandOutcome,
    CommandRunner,
    Model,
    Participant,
    WorkspaceFiles,
)
from shared.scripted import Reply, ScriptedModel

SUCCESS = CommandOutcome("ok\n", 0)


@dataclass
class FakeCommands:
    """A command runner that runs nothing: it records each command and returns a given outcome."""

    outcome: CommandOutcome | Callable[[str], CommandOutcome] = SUCCESS
    commands: list[str] = field(default_factory=list)

    async def run(self, command: str) -> CommandOutcome:
        """Record `command` and return the outcome."""
        self.commands.append(command)
        return self.outcome(command) if callable(self.outcome) else self.outcome


@dataclass
class FakeApprover:
    """Somebody who gives the same answer to every question, or raises it."""

    answer: str | BaseException = "yes"
    questions: list[str] = field(default_factory=list)

    async def ask(self, question: str) -> str:
        """Record `question` and answer."""
        self.questions.append(question)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class NoFiles:
    """A workspace for agents that must not touch one: every access is an error of the test."""

    async def read_text(self, path: str) -> str:
        """Raise AssertionError."""
        raise AssertionError(f"unexpected read of {path!r}")

    async def write_text(self, path: str, content: str) -> int:
        """Raise AssertionError."""
        raise AssertionError(f"unexpected write to {path!r}")

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Raise AssertionError."""
        raise AssertionError(f"unexpected edit of {path!r}")

    async def glob(self, pattern: str) -> list[str]:
        """Raise AssertionError."""
        raise AssertionError(f"unexpected search for {pattern!r}")

    async def resolve(self, path: str) -> str:
        """Raise AssertionError."""
        raise AssertionError(f"unexpected question where {path!r} leads")


@dataclass
class MemoryAudit:
    """An audit that keeps its entries, or fails to."""

    failure: Exception | None = None
    entries: list[dict[str, Any]] = field(default_factory=list)

    def record(self, entry: Mapping[str, Any]) -> None:
        """Keep the entry, or raise the failure."""
        if self.failure is not None:
            raise self.failure
        self.entries.append(dict(entry))


@dataclass
class FakeClock:
    """A clock whose waits take no time: each is recorded and moves `time` on, in seconds.

    `chance` is what it gives for a random number, every time.
    """

    chance: float = 0.5
    time: float = 0.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        """The time by this clock."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Record the wait. Others get their turn, and a cancelled task ends here."""
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    def random(self) -> float:
        """The given number."""
        return self.chance


def fake_kit(
    model: Model | None = None,
    *,
    files: WorkspaceFiles | None = None,
    commands: CommandRunner | None = None,
    approver: Approver | None = None,
    audit: Audit | None = None,
    participants: tuple[Participant, ...] = (),
    clock: Clock | None = None,
) -> Kit:
    """A kit of fakes; whoever is asked says no unless an approver is given."""
    return Kit(
        model=model or ScriptedModel([]),
        files=files or NoFiles(),
        commands=commands or FakeCommands(),
        approver=approver or FakeApprover("no"),
        audit=audit or MemoryAudit(),
        participants=participants,
        clock=clock or FakeClock(),
    )


@dataclass
class Recording:
    """What came of a run against a script: its model, its events, its history, its answer."""

    model: ScriptedModel
    events: list[Event]
    messages: list[object]
    reply: AssistantMessage | None
    error: Exception | None

    @property
    def results(self) -> list[ToolResult]:
        """The tool results in the history, in order."""
        return [message for message in self.messages if isinstance(message, ToolResult)]


async def run_script(
    plan: Callable[[Kit], Plan],
    replies: Iterable[Reply],
    *,
    prompt: str = "go",
    max_turns: int = 20,
    files: WorkspaceFiles | None = None,
    commands: CommandRunner | None = None,
    approver: Approver | None = None,
    audit: Audit | None = None,
    participants: tuple[Participant, ...] = (),
) -> Recording:
    """Run a chapter's agent against a script, with fakes for whatever is not given."""
    model = ScriptedModel(replies)
    events: list[Event] = []
    kit = fake_kit(
        model,
        files=files,
        commands=commands,
        approver=approver,
        audit=audit,
        participants=participants,
    )
    conversation = plan(kit).with_listeners(events.append).build(kit)
    reply: AssistantMessage | None = None
    error: Exception | None = None
    try:
        reply = await conversation.ask(prompt, max_turns=max_turns)
    except Exception as caught:
        error = caught
    return Recording(model, events, list(conversation.history), reply, error)
