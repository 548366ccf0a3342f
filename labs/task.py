"""One task for one agent: put it together, ask it, and say what came of it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labs.catalog import plan_of
from labs.cli import DONE, FAILED, INTERRUPTED
from labs.clock import SystemClock
from labs.human import HumanLeft
from labs.kit import human_model, open_kit, open_model
from labs.line_reader import LineReader
from labs.permission_options import Approve, Permissions
from labs.terminal import AlwaysYes, NeverAsks, TerminalApprover
from shared.config import Settings
from shared.errors import ConfigError, ReplyIncomplete, RunError, WorkbookError
from shared.events import Event, Listener, MessageAdded, TurnStarted
from shared.live_console import LiveConsole
from shared.messages import AssistantMessage, Usage
from shared.plan import Kit, Plan
from shared.ports import Approver, Audit, Model
from shared.screen import Screen
from shared.text import visible


@dataclass(frozen=True, slots=True)
class Task:
    """What to do, where, by which chapter's agent.

    Without `settings` you are the model; or a script is, if a `fault` is named.
    """

    chapter: int
    prompt: str
    workspace: Path
    settings: Settings | None
    max_turns: int
    permissions: Permissions = field(default_factory=Permissions)
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a task. `answer` is None unless it is done; `partial` is what came of one.

    `seen` says whether the whole answer can be read on the terminal of standard error already.
    """

    exit: int
    turns: int
    usage: Usage | None
    answer: str | None = None
    partial: str = ""
    error: str | None = None
    message: str | None = None
    seen: bool = False


class Tally:
    """A listener that counts the turns and adds up what the replies cost."""

    def __init__(self) -> None:
        self.turns = 0
        self.usage: Usage | None = None

    def __call__(self, event: Event) -> None:
        """Count one event."""
        match event:
            case TurnStarted():
                self.turns += 1
            case MessageAdded(message=AssistantMessage(usage=Usage() as usage)):
                self.usage = self.usage + usage if self.usage else usage


def perform(task: Task) -> Outcome:
    """Run the task to its end, whatever that is. Raises ConfigError and OSError only.

    Ctrl-C cancels it, and so does the end of the terminal: running commands are killed and the
    history is closed before this returns.
    """
    tally = Tally()
    try:
        reply, seen = asyncio.run(_ask(task, tally))
    except (KeyboardInterrupt, asyncio.CancelledError):
        return Outcome(
            INTERRUPTED, tally.turns, tally.usage, error="Interrupted", message="Interrupted."
        )
    except (RunError, WorkbookError) as error:
        if isinstance(error, ConfigError) or not (tally.turns or isinstance(error, RunError)):
            raise
        return Outcome(
            INTERRUPTED if isinstance(error, HumanLeft) else FAILED,
            tally.turns,
            tally.usage,
            partial=getattr(error, "text", ""),
            error=type(error).__name__,
            message=f"{error}{_more_about(error, task.settings)}",
        )
    return Outcome(DONE, tally.turns, tally.usage, answer=reply.text, seen=seen)


def _more_about(error: BaseException, settings: Settings | None) -> str:
    """What can be set, if that is what keeps a server's replies from being taken."""
    if settings is None or not isinstance(error, ReplyIncomplete) or error.finish:
        return ""
    if settings.overrides.get("finish_required") is False:
        return ""
    return (
        " If this server never gives a reason, "
        f"{settings.prefix}FINISH_REQUIRED=false says that its replies are whole."
    )


def _cancel_when_told_to_end() -> None:
    """Being told to end, or losing the terminal, must not leave a command running behind us."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            # Windows, and threads other than the main one, have no such handlers.
            with suppress(NotImplementedError, RuntimeError, ValueError):
                loop.add_signal_handler(getattr(signal, name), task.cancel)


async def _ask(task: Task, tally: Tally) -> tuple[AssistantMessage, bool]:
    """The last reply, and whether all of it was shown while it arrived."""
    _cancel_when_told_to_end()
    lines = LineReader(sys.stdin)
    granted = task.permissions
    approver, audit = _approver(granted.approve, lines), _audit(granted)
    secrets = [task.settings.api_key] if task.settings else []
    listeners: list[Listener] = [tally]
    console = LiveConsole(sys.stderr, SystemClock(), outcome=False)
    if task.settings or task.fault:  # a person who is the model sees everything there
        listeners.append(console)
    async with _model(task, lines) as model:
        with open_kit(
            task.workspace, model, approver, secrets, audit=audit, rules=granted.rules
        ) as kit:
            plan = plan_of(task.chapter)(kit).with_listeners(*listeners)
            _warn_about_rules(kit, plan)
            async with console.running():
                reply = await plan.build(kit).ask(task.prompt, max_turns=task.max_turns)
            return reply, console.has_shown_the_reply


def _warn_about_rules(kit: Kit, plan: Plan) -> None:
    """Say which rules can never fit. No refusal: one file may serve agents with other tools."""
    if not kit.participants:
        return
    from chapters.ch03.rules import Rules

    known = [tool.name for tool in plan.tools]
    for rules in kit.participants:
        for name in rules.unknown_tools(known) if isinstance(rules, Rules) else ():
            warning = f"No tool is called {name!r}: that rule never fits. There are: "
            Screen(sys.stderr).labelled("rules", visible(warning + ", ".join(known)))


def _approver(answers: Approve, lines: LineReader) -> Approver:
    match answers:
        case Approve.ALWAYS:
            return AlwaysYes()
        case Approve.NEVER:
            return NeverAsks()
        case Approve.ASK:
            return TerminalApprover(lines)


def _audit(granted: Permissions) -> Audit | None:
    if granted.audit is None:
        return None
    from chapters.ch03.audit import AuditFile

    audit = AuditFile(granted.audit)
    return UnattendedAudit(audit) if granted.approve is Approve.ALWAYS else audit


class UnattendedAudit:
    """Keeps an audit honest where an option answered: no person has seen the question."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    def record(self, entry: Mapping[str, Any]) -> None:
        """Record `entry` with the option in the place of the person."""
        who = "--approve always" if entry["who"] == "person" else entry["who"]
        self._audit.record({**entry, "who": who})


@asynccontextmanager
async def _model(task: Task, lines: LineReader) -> AsyncIterator[Model]:
    if task.fault is not None:
        from labs.faults import fault_named
        from labs.faulty_provider import faulty_model

        async with faulty_model(fault_named(task.fault)) as model:
            yield model
        return
    if task.settings is None:
        yield human_model(lines)
        return
    async with open_model(task.settings, task.chapter) as model:
        yield model
