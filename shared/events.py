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


# What a reply is like while it arrives. Parts are counted from 0, in the order of the reply. None
# of this may be acted on: nothing is true before the reply has ended, and the message says it then.


@dataclass(slots=True)
class ReplyStarted:
    """The first piece of a reply has arrived."""


@dataclass(slots=True)
class TextStarted:
    """A piece of text begins."""

    part: int


@dataclass(slots=True)
class TextDelta:
    """More of a text."""

    part: int
    text: str


@dataclass(slots=True)
class TextEnded:
    """A text is whole."""

    part: int
    text: str


@dataclass(slots=True)
class ThinkingStarted:
    """The model begins to think where it can be seen."""

    part: int


@dataclass(slots=True)
class ThinkingDelta:
    """More of what it thinks."""

    part: int
    text: str


@dataclass(slots=True)
class ThinkingEnded:
    """A thought is whole."""

    part: int
    text: str


@dataclass(slots=True)
class ToolCallStarted:
    """A tool call begins. Its name may still grow."""

    part: int
    id: str
    name: str


@dataclass(slots=True)
class ToolCallDelta:
    """More of the arguments of a call: a piece of JSON text, cut anywhere."""

    part: int
    arguments: str


@dataclass(slots=True)
class ToolCallEnded:
    """The provider says that a call is whole. It does not run before the reply has ended."""

    part: int
    call: ToolCall


@dataclass(slots=True)
class ReplyEnded:
    """Nothing more of this reply will come. `error` is None if it is whole."""

    reply: AssistantMessage | None
    error: BaseException | None


@dataclass(slots=True)
class RetryScheduled:
    """A request failed and will be sent again after `seconds`, as number `attempt`: 2, 3, ..."""

    attempt: int
    seconds: float
    error: BaseException


RunEvent = (
    RunStarted | TurnStarted | MessageAdded | ToolStarted | ToolFinished | TurnEnded | RunEnded
)
StreamEvent = (
    ReplyStarted
    | TextStarted
    | TextDelta
    | TextEnded
    | ThinkingStarted
    | ThinkingDelta
    | ThinkingEnded
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallEnded
    | ReplyEnded
    | RetryScheduled
)
Event = RunEvent | StreamEvent
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
