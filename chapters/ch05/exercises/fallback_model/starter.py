"""`Fallback`: another model is asked when the first one is down."""

from __future__ import annotations

from chapters import ch05
from chapters.ch01.provider_errors import NO_CREDIT
from chapters.ch05.retry import retrying
from shared.errors import ProviderError
from shared.events import Emit
from shared.messages import AssistantMessage, Request
from shared.plan import Kit, Plan
from shared.ports import Clock, Model, ModelLayer

NAME = "fallback"
REST = 300.0  # seconds


def no_credit(error: ProviderError) -> bool:
    """Whether the account of this provider is empty. Waiting does not help; another one may."""
    said = f"{error.code} {error.type}"
    return error.status == 402 or error.code == "402" or NO_CREDIT.search(said) is not None


def helps(error: ProviderError) -> bool:
    """Whether another model may do better where this one has failed."""
    # TODO: The table of the statement. Two rows of it say yes.
    raise NotImplementedError("your turn")


class Fallback:
    """A model, and another one that is asked when it is down.

    After a failure the first one is left alone for `rest` seconds by the clock.
    """

    def __init__(self, first: Model, second: Model, clock: Clock, rest: float = REST) -> None:
        self._first = first
        self._second = second
        self._clock = clock
        self._rest = rest
        self._until: float | None = None  # so long the first one is left alone
        self._failure: ProviderError | None = None  # why

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The first model's reply, or the second one's. Raises ProviderError if there is none."""
        # TODO: Ask the first one unless it rests. What is the second one asked, and when?
        raise NotImplementedError("your turn")

    async def _instead(self, request: Request, emit: Emit) -> AssistantMessage:
        """The second model's reply. If it fails too, the person reads of both."""
        # TODO: If there is a ProviderError, add the other one to it, and end the rest.
        raise NotImplementedError("your turn")


def falling_back(second: Model, clock: Clock, rest: float = REST) -> ModelLayer:
    """The layer that asks `second` where the model below it is down."""
    return ModelLayer(NAME, lambda first: Fallback(first, second, clock, rest))


def plan(kit: Kit, second: Model, *, rest: float = REST) -> Plan:
    """Chapter 5's agent with a second model. Each of the two is asked again before it is down."""
    if kit.clock is None:
        raise ValueError("a fallback needs a clock: it comes back after a while")
    # TODO: Which layer has the first model around it already? The second one has none.
    raise NotImplementedError("your turn")
