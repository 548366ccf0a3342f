"""A budget for the shell: so many seconds and characters for all commands of one run together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from chapters import ch01
from shared.errors import ToolError
from shared.events import Event, RunStarted
from shared.plan import Kit, Plan
from shared.ports import CommandOutcome, CommandRunner

Clock = Callable[[], float]
"""The time in seconds, from any beginning, such as time.monotonic."""

ADVICE = "Send no more commands: answer with what you have, and tell the user what is missing."


class RunBudget:
    """A command runner that lets the commands of a run take and print only so much, all together.

    `seconds` is time by `clock` in which a command is running; `characters` is output. As long as
    something of both is left, the next command runs.
    """

    def __init__(
        self, commands: CommandRunner, *, seconds: float, characters: int, clock: Clock
    ) -> None:
        self._commands = commands
        self._seconds = seconds
        self._characters = characters
        self._clock = clock
        self._seconds_left = seconds
        self._characters_left = characters

    def listen(self, event: Event) -> None:
        """The listener's half: a run that starts has the whole budget."""
        # TODO: When a run starts, everything is left again. Every other event is none of yours.
        raise NotImplementedError("your turn")

    async def run(self, command: str) -> CommandOutcome:
        """Run `command` on what is left; raise ToolError("budget_spent") if nothing is."""
        # TODO: Refuse if nothing is left; run and stop in time; charge time and output; cut.
        raise NotImplementedError("your turn")


def spent(what: str) -> ToolError:
    """The refusal that the model reads: what is used up, and what to do without it."""
    return ToolError("budget_spent", f"{what} are used up. {ADVICE}")


def plan(kit: Kit, *, seconds: float, characters: int, clock: Clock) -> Plan:
    """Chapter 1's agent with a budget for its shell."""
    # TODO: Chapter 1's plan of a kit whose commands go through the budget; let it listen, too.
    raise NotImplementedError("your turn")
