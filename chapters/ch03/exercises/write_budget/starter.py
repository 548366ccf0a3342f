"""`WriteBudget`: so many writes may be made in one run, whoever would allow more."""

from __future__ import annotations

from dataclasses import replace

from chapters import ch03
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.events import Event, RunStarted
from shared.plan import Kit, Plan
from shared.tools import Effect, Invoke, PreparedCall, Returned, ToolLayer

NAME = "write_budget"


class WriteBudget:
    """Knows how many calls with the effect `write` this run may still make.

    Three parts share the count: `listen` fills it, `decide` looks at it, `layer` takes from it.
    """

    name = NAME

    def __init__(self, writes: int) -> None:
        if writes < 0:
            raise ValueError(f"a budget of {writes} writes makes no sense; 0 allows none")
        self._writes = writes
        self._left = writes

    def listen(self, event: Event) -> None:
        """The listener: a run that starts has the whole budget."""
        # TODO: Fill the budget when a run starts. Every other event is none of yours.
        raise NotImplementedError("your turn")

    async def decide(self, prepared: PreparedCall) -> Decision:
        """The participant: deny a write if none is left. It takes nothing from the budget."""
        # TODO: Decide by effect; say how many writes there were. Count nothing here.
        raise NotImplementedError("your turn")

    def layer(self) -> ToolLayer:
        """The tool layer, to be put right around the handler: it counts what was let through."""
        # TODO: Take one for each write, then go on. Refuse if the last one has gone meanwhile.
        raise NotImplementedError("your turn")

    def _spent(self) -> str:
        """Why there is no further write, and what to do about it."""
        return (
            f"the budget for this run (writes: {self._writes}) is used up; "
            "write no more, and tell the user what is left to do"
        )


def plan(kit: Kit, *, writes: int) -> Plan:
    """Chapter 3's agent with a budget for its writes."""
    # TODO: Put all three parts in their places. The first of `tool_layers` is the innermost.
    raise NotImplementedError("your turn")
