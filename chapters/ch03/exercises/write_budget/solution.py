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
        # solution: Fill the budget when a run starts. Every other event is none of yours.
        if isinstance(event, RunStarted):
            self._left = self._writes
        # end solution

    async def decide(self, prepared: PreparedCall) -> Decision:
        """The participant: deny a write if none is left. It takes nothing from the budget."""
        # solution: Decide by effect; say how many writes there were. Count nothing here.
        if prepared.tool.effect is Effect.WRITE and self._left == 0:
            return Decision(Behaviour.DENY, self._spent(), self.name)
        return Decision(Behaviour.PASS, "within the budget of this run", self.name)
        # end solution

    def layer(self) -> ToolLayer:
        """The tool layer, to be put right around the handler: it counts what was let through."""
        # solution: Take one for each write, then go on. Refuse if the last one has gone meanwhile.

        def wrap(invoke: Invoke) -> Invoke:
            async def count(prepared: PreparedCall) -> Returned:
                if prepared.tool.effect is Effect.WRITE:
                    if self._left == 0:
                        raise ToolError("permission_denied", self._spent())
                    # Before the handler: a write that fails, or is cancelled, was allowed as well.
                    self._left -= 1
                return await invoke(prepared)

            return count

        return ToolLayer(self.name, wrap)
        # end solution

    def _spent(self) -> str:
        """Why there is no further write, and what to do about it."""
        return (
            f"the budget for this run (writes: {self._writes}) is used up; "
            "write no more, and tell the user what is left to do"
        )


def plan(kit: Kit, *, writes: int) -> Plan:
    """Chapter 3's agent with a budget for its writes."""
    # solution: Put all three parts in their places. The first of `tool_layers` is the innermost.
    budget = WriteBudget(writes)
    limited = ch03.plan(replace(kit, participants=(*kit.participants, budget)))
    inside = (budget.layer(), *limited.tool_layers)
    return replace(limited, tool_layers=inside).with_listeners(budget.listen)
    # end solution
