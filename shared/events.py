"""What a run tells whoever listens. A listener sees each event and changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared.messages import AssistantMessage, Message, Request, ToolCall, ToolResult

logger = logging.getLogger("workbook")


@dataclass(slots=True)
class RunStarted:
    """A prompt was accepted; at most `max_turns` requests will follow."""

    max_turns: int


@dataclass(slots=True)
class TurnStarted:
    """The model is about to be asked for the `turn`-th time, counted from 1."""

    turn: int
    request: Request


@dataclass(slots=True)
class MessageAdded:
    """The history grew by one message."""

    message: Message


@dataclass(slots=True)
class ToolStarted:
    """A call is about to be looked up, checked and, if all is well, run."""

    call: ToolCall


@dataclass(slots=True)
class ToolFinished:
    """A call has its result: a value or a failure."""

    call: ToolCall
    result: ToolResult


@dataclass(slots=True)
class TurnEnded:
    """The reply is in the history and each of its calls is answered."""

    turn: int
    reply: AssistantMessage


@dataclass(slots=True)
class RunEnded:
    """The run is over. `error` is None if it ended with an answer."""

    reply: AssistantMessage | None
    error: BaseException | None


Event = RunStarted | TurnStarted | MessageAdded | ToolStarted | ToolFinished | TurnEnded | RunEnded
Emit = Callable[[Event], None]
Listener = Callable[[Event], None]


def fan_out(listeners: Sequence[Listener]) -> Emit:
    """One function that passes each event to all listeners, in order.

    A listener that raises is a bug in the listener: it is logged, and the run goes on without it.
    """
    active = tuple(listeners)

    def emit(event: Event) -> None:
        nonlocal active
        for listener in active:
            try:
                listener(event)
            except BrokenPipeError:
                raise  # whoever listened to the screen has left: that ends the program, quietly
            except Exception:
                active = tuple(other for other in active if other is not listener)
                logger.exception("listener %r failed and was dropped", listener)

    return emit
