"""What every lab does: a throw-away workspace, a run of the real agent, a transcript, the facts."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from labs.clock import SystemClock
from labs.kit import open_kit
from labs.terminal import NARROWEST, rows
from shared.errors import WorkbookError
from shared.events import Emit, Listener
from shared.facts import Facts
from shared.history import History
from shared.live_console import LiveConsole
from shared.messages import AssistantMessage, Request, ToolCall, ToolResult
from shared.plan import Kit, Plan
from shared.ports import Approver, Audit, Clock, CommandOutcome, CommandRunner, Model
from shared.screen import Screen
from shared.scripted import Reply, ScriptedModel, ScriptError
from shared.testing import MemoryAudit

WORDS = (
    "amber",
    "basalt",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "garnet",
    "harbor",
    "indigo",
    "juniper",
)


def introduce(number: int, title: str, *, live: bool, out: TextIO) -> None:
    """Say what is about to happen and what in it is real."""
    model = "The model is the one in your .env" if live else "The model follows a script"
    print(f"Lab {number}: {title}", file=out)
    print(f"{model}; the loop, the tools and the files are real.\n", file=out)


def code_word() -> str:
    """A word nobody can know who has not read it: random in every run."""
    return f"{secrets.choice(WORDS)}-{secrets.randbelow(9000) + 1000}"


@contextlib.contextmanager
def throw_away_folder(*, keep: bool, out: TextIO) -> Iterator[Path]:
    """A fresh folder, removed at the end unless `keep`, in which case its path is printed."""
    folder = Path(tempfile.mkdtemp(prefix="workbook-lab-"))
    try:
        yield folder
    finally:
        if keep:
            print(f"\nThe workspace is kept: {folder}", file=out)
        else:
            shutil.rmtree(folder, ignore_errors=True)


class Witness:
    """A model that lets every request through and remembers it, whoever answers."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.requests: list[Request] = []

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """What the model inside replies."""
        self.requests.append(request)
        return await self._model.reply(request, emit)


class WitnessedCommands:
    """A command runner that remembers what really ran."""

    def __init__(self, commands: CommandRunner) -> None:
        self._commands = commands
        self.ran: list[str] = []

    async def run(self, command: str) -> CommandOutcome:
        """Run `command` for real."""
        self.ran.append(command)
        return await self._commands.run(command)


@dataclass
class Answers:
    """A person whose answers are known beforehand.

    Yes to a question that holds one of `allowed`; no to every other, with the reason that
    `refused` gives for a question that holds its key.
    """

    allowed: Sequence[str]
    out: TextIO
    questions: list[str] = field(default_factory=list)
    refused: Mapping[str, str] = field(default_factory=dict)

    async def ask(self, question: str) -> str:
        """Answer, and show question and answer in the transcript."""
        self.questions.append(question)
        answer = self._answer(question)
        shown = f"{question}{answer}"
        if self.out.isatty():
            shown = rows(shown, max(Screen(self.out).columns() - 1, NARROWEST))
        print(shown, file=self.out)
        return answer

    def _answer(self, question: str) -> str:
        if any(part in question for part in self.allowed):
            return "yes"
        reasons = [reason for part, reason in self.refused.items() if part in question]
        return " ".join(["no", *reasons[:1]])


@dataclass
class Observed:
    """What a run left behind, for the facts to look at."""

    requests: list[Request]
    commands: list[str]
    history: History
    reply: AssistantMessage | None
    error: Exception | None

    @property
    def results(self) -> list[ToolResult]:
        """The tool results, in order."""
        return [message for message in self.history if isinstance(message, ToolResult)]

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls, in order."""
        return [
            call
            for message in self.history
            if isinstance(message, AssistantMessage)
            for call in message.calls
        ]

    @property
    def answer(self) -> str:
        """The text of the final reply; empty if there is none."""
        return self.reply.text if self.reply else ""

    def codes(self, tool: str) -> list[str | None]:
        """The codes of the results of one tool, in order; None for a success."""
        return [result.code for result in self.results if result.name == tool]


def check_pairing(facts: Facts, seen: Observed, *, where: str = "") -> None:
    """The fact that holds in every lab: each call has its result. `where` begins its sentence."""
    facts.equal(
        f"{where}one result per call, same ids, same order",
        [result.call_id for result in seen.results],
        [call.id for call in seen.calls],
    )


async def observe(
    plan: Callable[[Kit], Plan],
    workspace: Path,
    prompt: str,
    *,
    script: Sequence[Reply],
    live: Model | None,
    approver: Approver,
    audit: Audit | None = None,
    rules: Path | None = None,
    clock: Clock | None = None,
    listeners: Sequence[Listener] = (),
    out: TextIO,
) -> Observed:
    """Run a chapter's agent for real, against the script or a live model, and show it on `out`.

    `audit` and `rules` are for the agents from chapter 3 on; an audit that nobody looks at is
    kept in memory. With a `clock` of its own the agent waits by that one.
    """
    model = Witness(live or ScriptedModel(script))
    with open_kit(
        workspace, model, approver, secrets=(), audit=audit or MemoryAudit(), rules=rules
    ) as kit:
        commands = WitnessedCommands(kit.commands)
        kit = replace(kit, commands=commands, clock=clock or kit.clock)
        console = LiveConsole(out, SystemClock())  # a person watches in real time
        conversation = plan(kit).with_listeners(console, *listeners).build(kit)
        reply: AssistantMessage | None = None
        error: Exception | None = None
        try:
            async with console.running():
                reply = await conversation.ask(prompt)
        except (WorkbookError, ScriptError) as caught:
            error = caught
    return Observed(model.requests, commands.ran, conversation.history, reply, error)
