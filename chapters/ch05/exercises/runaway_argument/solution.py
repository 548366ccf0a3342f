"""`Bounded`: a call whose arguments do not end is stopped while it streams."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from chapters import ch05
from chapters.ch01.openai_chat import mint_id
from shared.errors import WorkbookError
from shared.events import (
    Emit,
    Event,
    ReplyStarted,
    TextDelta,
    TextStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import FINISHED, AssistantMessage, Request, StopReason, Text, ToolCall
from shared.plan import Kit, Plan
from shared.ports import Model, ModelLayer

NAME = "runaway_argument"


class TooLong(WorkbookError):
    """The arguments of one call have more bytes than the limit."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(
            f"The model wrote more than {limit:,} bytes for one call of '{name}', and was stopped."
        )


def first_bytes(text: str, limit: int) -> str:
    """As much of `text` as fits into `limit` bytes of UTF-8, without a character in halves."""
    return text.encode("utf-8", "surrogatepass")[:limit].decode("utf-8", "ignore")


@dataclass(slots=True)
class Part:
    """A text that grows, or the arguments of a call, which has a `name`."""

    name: str | None = None
    pieces: list[str] = field(default_factory=list)
    size: int = 0  # in bytes, so far

    @property
    def text(self) -> str:
        """The pieces, joined."""
        return "".join(self.pieces)


class ReplySoFar:
    """One reply as far as it was told: its texts and its calls, without what the model thought."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: dict[int, Part] = {}

    def hear(self, event: Event) -> None:
        """Take in one event. Raises TooLong when a call has more than `limit` bytes."""
        # solution: Keep texts and calls by their part, count bytes, and begin anew with a reply.
        match event:
            case ReplyStarted():
                self._parts = {}
            case TextStarted():
                self._parts[event.part] = Part()
            case ToolCallStarted():
                self._parts[event.part] = Part(event.name)
            case TextDelta():
                self._parts[event.part].pieces.append(event.text)
            case ToolCallEnded():
                self._parts[event.part].name = event.call.name
            case ToolCallDelta():
                call = self._parts[event.part]
                call.pieces.append(event.arguments)
                call.size += len(event.arguments.encode("utf-8", "surrogatepass"))
                if call.size > self._limit:
                    raise TooLong(call.name or "", self._limit)
            case _:
                pass  # what it thinks, and how the reply ends
        # end solution

    def message(self) -> AssistantMessage:
        """What is left of a reply that was stopped: a reply that hit its limit."""
        # solution: Texts and calls in the order of their parts. What ids do the calls have?
        content: list[Text | ToolCall] = []
        for _, part in sorted(self._parts.items()):
            if part.name is not None:
                arguments = first_bytes(part.text, self._limit)
                content.append(ToolCall(mint_id(), part.name, arguments))
            elif part.pieces:
                content.append(Text(part.text))
        return AssistantMessage(tuple(content), StopReason.MAX_TOKENS)
        # end solution


def cut_short(reply: AssistantMessage, limit: int) -> AssistantMessage:
    """The reply, if no call of it is too long; else one that hit its limit, and those calls cut.

    A reply that did not end well has its reason already, and keeps it.
    """
    # solution: Cut the calls that are too long. What does the loop look at before it runs any?
    content = tuple(
        replace(part, arguments=first_bytes(part.arguments, limit))
        if isinstance(part, ToolCall)
        else part
        for part in reply.content
    )
    if content == reply.content:
        return reply
    stop = StopReason.MAX_TOKENS if reply.stop in FINISHED else reply.stop
    return replace(reply, content=content, stop=stop)
    # end solution


class Bounded:
    """A model whose calls have at most `limit` bytes of arguments each."""

    def __init__(self, model: Model, limit: int) -> None:
        if limit < 2:
            raise ValueError(f"a limit of {limit} bytes leaves no room for {{}}")
        self._model = model
        self._limit = limit

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """A reply that is whole, or what came of it until a call became too long."""
        # solution: Hear what the model tells before it goes on to `emit`, and what comes of that.
        so_far = ReplySoFar(self._limit)

        def watch(event: Event) -> None:
            emit(event)
            so_far.hear(event)

        try:
            reply = await self._model.reply(request, watch)
        except TooLong:
            return so_far.message()
        return cut_short(reply, self._limit)
        # end solution


def bounded(limit: int) -> ModelLayer:
    """The layer that stops a call at `limit` bytes."""
    return ModelLayer(NAME, lambda model: Bounded(model, limit))


def plan(kit: Kit, *, limit: int) -> Plan:
    """Chapter 5's agent, no call of which has more than `limit` bytes of arguments."""
    # solution: It is a layer around the model, outside of those that are there.
    return ch05.plan(kit).with_model_layer(bounded(limit))
    # end solution
