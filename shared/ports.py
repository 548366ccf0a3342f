"""The protocols: what the agent needs from the world, and nothing about how it is done.

Adapters live in the chapter that teaches them and are created in one place, `labs/`. Tests hand in
fakes from `shared/testing.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from shared.decision import Decision
from shared.events import Emit
from shared.history import History
from shared.messages import AssistantMessage, Request, ToolCall, ToolResult, ToolSpec, UserMessage
from shared.tools import PreparedCall


class Model(Protocol):
    """Anything that can reply: a provider, a script, a person at a keyboard."""

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply. Raises ProviderError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class ModelLayer:
    """A named wrapper around the model: system prompt, retry, compaction, cost limit."""

    name: str
    wrap: Callable[[Model], Model]


class Dispatcher(Protocol):
    """Turns the calls of a reply into results."""

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is offered, in the order of registration."""
        ...

    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        """Call `answer` once per call, in call order. Failures are results, never raised."""
        ...


class Source(Protocol):
    """Something that arrives between turns: a prompt, a steering message, a finished job."""

    def take(self) -> Sequence[UserMessage]:
        """What has arrived since the last time, oldest first."""
        ...

    def waiting(self) -> bool:
        """True if `take` would return something."""
        ...


class Approver(Protocol):
    """A person who can be asked."""

    async def ask(self, question: str) -> str:
        """Show `question` and return the answer as typed. May raise; then nobody has agreed."""
        ...


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """What came of a command.

    `output` is stdout and stderr as they came, at most the runner's limit of characters;
    `truncated` says whether there was more. `exit_code` is None if the command was killed because
    its time, `timeout` seconds, ran out; a negative one names the signal that ended it.
    """

    output: str
    exit_code: int | None
    truncated: bool = False
    timeout: float | None = None


class Clock(Protocol):
    """Time and chance, which a test wants to decide."""

    def now(self) -> float:
        """Seconds since some moment; only differences mean something."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait. Can be cancelled."""
        ...

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
        ...


class Participant(Protocol):
    """Somebody with a say in whether a call may run: a rule, a boundary, a memory of answers."""

    @property
    def name(self) -> str:
        """What its decisions give as their source."""
        ...

    async def decide(self, prepared: PreparedCall) -> Decision:
        """Deny, ask, allow, or pass. Must not do anything else."""
        ...


class Audit(Protocol):
    """Where decisions are written down."""

    def record(self, entry: Mapping[str, Any]) -> None:
        """Store one decision for good, or raise. When it returns, the entry is safe."""
        ...


class CommandRunner(Protocol):
    """Runs a command line in the workspace. Not a sandbox: the command can do what you can do."""

    async def run(self, command: str) -> CommandOutcome:
        """Run to the end or to the time-out. Raises ToolError("shell_start_failed")."""
        ...


class WorkspaceFiles(Protocol):
    """The files of a workspace and nothing beyond them.

    Paths are relative, spelled with `/`. Every method raises ToolError with a code for what went
    wrong (`path_escape`, `invalid_path`, `file_not_found`, ...), having changed nothing.
    """

    async def read_text(self, path: str) -> str:
        """The whole file, decoded as strict UTF-8, line endings untouched."""
        ...

    async def write_text(self, path: str, content: str) -> int:
        """Replace or create the file, parents included, all or nothing. Returns bytes written."""
        ...

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Replace the first exact occurrence of `old`; every other byte stays as it was."""
        ...

    async def glob(self, pattern: str) -> list[str]:
        """Paths of the files that match, sorted, relative, with `/`."""
        ...

    async def resolve(self, path: str) -> str:
        """Where `path` really leads, without links; it need not exist. Reads nothing else."""
        ...


class Loop(Protocol):
    """The signature of chapter 1's loop, so that a plan can carry it."""

    async def __call__(
        self,
        model: Model,
        tools: Dispatcher,
        history: History,
        *,
        arrivals: Source,
        emit: Emit,
        max_turns: int,
    ) -> AssistantMessage:
        """Ask the model until a reply asks for nothing, and return that reply."""
        ...
