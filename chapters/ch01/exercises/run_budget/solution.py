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
        # solution: When a run starts, everything is left again. Every other event is none of yours.
        if isinstance(event, RunStarted):
            self._seconds_left = self._seconds
            self._characters_left = self._characters
        # end solution

    async def run(self, command: str) -> CommandOutcome:
        """Run `command` on what is left; raise ToolError("budget_spent") if nothing is."""
        # solution: Refuse if nothing is left; run and stop in time; charge time and output; cut.
        self._check_left()
        outcome = await self._run_in_time(command)
        kept = outcome.output[: self._characters_left]
        self._characters_left -= len(kept)
        cut = len(kept) < len(outcome.output)
        return replace(outcome, output=kept, truncated=outcome.truncated or cut)

    def _check_left(self) -> None:
        if self._seconds_left <= 0:
            raise spent(f"Not run: the {self._seconds:g} seconds for the commands of this run")
        if self._characters_left <= 0:
            raise spent(f"Not run: the {self._characters:,} characters of output for this run")

    async def _run_in_time(self, command: str) -> CommandOutcome:
        started = self._clock()
        try:
            async with asyncio.timeout(self._seconds_left) as limit:
                return await self._commands.run(command)
        except TimeoutError:
            if not limit.expired():  # somebody else's time ran out
                raise
            self._seconds_left = 0
            what = (
                f"Stopped, output lost: the {self._seconds:g} seconds for the commands of this run"
            )
            raise spent(what) from None
        finally:
            # In `finally`, because a command that fails or is cancelled has taken its time as well.
            self._seconds_left -= self._clock() - started
        # end solution


def spent(what: str) -> ToolError:
    """The refusal that the model reads: what is used up, and what to do without it."""
    return ToolError("budget_spent", f"{what} are used up. {ADVICE}")


def plan(kit: Kit, *, seconds: float, characters: int, clock: Clock) -> Plan:
    """Chapter 1's agent with a budget for its shell."""
    # solution: Chapter 1's plan of a kit whose commands go through the budget; let it listen, too.
    budget = RunBudget(kit.commands, seconds=seconds, characters=characters, clock=clock)
    return ch01.plan(replace(kit, commands=budget)).with_listeners(budget.listen)
    # end solution
