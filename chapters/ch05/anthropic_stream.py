"""Anthropic Messages, streamed: blocks that open, grow and close, each under its own number."""

from __future__ import annotations

from collections.abc import Iterator

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.anthropic_messages import ANTHROPIC
from chapters.ch04.anthropic_reply import STOP_REASONS
from chapters.ch04.wire import Json, words
from chapters.ch05.accumulator import (
    REST_BEHIND_THE_END,
    ReportedError,
    StreamWire,
    given,
    refuse_errors,
)
from chapters.ch05.anthropic_blocks import GROWS_BY, PIECES, Block, close, grow
from shared.events import StreamEvent, TextStarted, ThinkingStarted, ToolCallStarted
from shared.messages import FINISHED, StopReason

NOT_ENDED_BADLY = FINISHED | {StopReason.MISSING}


# region: accumulator
class AnthropicAccumulator:
    """Puts a message together from its blocks. Several of them may be open at a time."""

    def __init__(self) -> None:
        self._message: Json = {}
        self._usage: Json = {}
        self._blocks: list[Block] = []
        self._at: dict[int | None, Block] = {}  # the last block that began under each number
        self._id: str | None = None  # of the message
        self._over = False

    def feed(self, event: Json) -> Iterator[StreamEvent]:
        """Take in one event of the stream."""
        match event.get("type"):
            case "content_block_delta":
                yield from self._grow(event)
            case "content_block_start":
                yield from self._begin(event)
            case "content_block_stop":
                if block := self._at.get(index_of(event)):
                    block.stopped = True
                    yield from close(block)
            case "message_start":
                # Its stop reason is left behind: no message has ended when it begins.
                self._open(given(event.get("message")))
                self._count(given(event.get("message")))
            case "message_delta":
                self._conclude(given(event.get("delta")))
                self._count(event)
            case "message_stop":
                self._over = True
            case "error":
                raise ReportedError(event.get("error") or event)
            case kind:
                refuse_errors(event)
                if not isinstance(kind, str):
                    raise UnreadableReply("an event has no `type`")
                # else a ping, or news of a later time

    def end(self) -> Iterator[StreamEvent]:
        """Close what nobody closed."""
        for block in self._blocks:
            yield from close(block)

    @property
    def finished(self) -> bool:
        """Whether a stop reason has come. `message_stop` says no more, and some leave it out."""
        return bool(words(self._message, "stop_reason"))

    @property
    def rest(self) -> float | None:
        """How long to listen on, in seconds, when the message has been stopped."""
        return REST_BEHIND_THE_END if self._over else None

    def answer(self) -> Json:
        """The message as it would have come in one piece."""
        if any(block.unfinished for block in self._blocks):
            raise UnreadableReply("a call has begun and nothing more of it came")
        content = [block.whole() for block in self._blocks]
        return {**self._message, "content": content, "usage": self._usage or None}

    def _open(self, message: Json) -> None:
        """Another message in this stream would not go on with what came: it is another answer.

        Its blocks have the same numbers. Said twice at the very beginning it does no harm.
        """
        name = words(message, "id")
        if message and (self._blocks or self._id not in (None, name)):
            raise UnreadableReply("a second message begins in the middle of the first")
        self._id = name if message else self._id

    def _begin(self, event: Json) -> Iterator[StreamEvent]:
        index, begun = index_of(event), object_in(event, "content_block")
        kind = words(begun, "type")
        if before := self._at.get(index):
            if before.begins_again(begun):
                return
            yield from close(before)
        block = self._at[index] = Block(kind, begun, None)
        if kind not in GROWS_BY:
            return
        block.part = len(self._blocks)
        self._blocks.append(block)
        match kind:
            case "tool_use":
                yield ToolCallStarted(block.part, words(begun, "id"), words(begun, "name"))
            case "text":
                yield TextStarted(block.part)
                yield from grow(block, begun.get("text"))
            case _:
                yield ThinkingStarted(block.part)
                yield from grow(block, begun.get("thinking"))

    def _grow(self, event: Json) -> Iterator[StreamEvent]:
        delta = object_in(event, "delta")
        block = self._at.get(index_of(event))
        said = delta.get("type")
        if block is None or block.closed:
            raise UnreadableReply("a piece belongs to no open block")
        if block.part is None:
            return
        grows_by, name = GROWS_BY[block.kind]
        if said == grows_by:
            yield from grow(block, delta.get(name))
        elif said == "signature_delta":
            block.signature.append(words(delta, "signature"))
        elif isinstance(said, str) and said in PIECES:
            raise UnreadableReply(f"a piece of another kind is in a block of {block.kind}")

    def _conclude(self, said: Json) -> None:
        """Take the reason. One not to use the message is not taken back."""
        if STOP_REASONS.get(words(self._message, "stop_reason")) in NOT_ENDED_BADLY:
            self._message |= said

    def _count(self, said: Json) -> None:
        """Take the numbers of tokens. They are totals so far: a later one replaces an earlier."""
        self._usage |= given(said.get("usage"))


# endregion: accumulator


def index_of(event: Json) -> int | None:
    """Which block an event is about. Without a number it is about the last one without a number."""
    index = event.get("index")
    return index if type(index) is int else None


def object_in(event: Json, name: str) -> Json:
    """`event[name]`, which has to be an object. Raises UnreadableReply if it is none."""
    value = event.get(name)
    if not isinstance(value, dict):
        raise UnreadableReply(f"`{name}` is missing or not an object")
    return value


ANTHROPIC_STREAM = StreamWire(
    wire=ANTHROPIC,
    fields=lambda request, target: {"stream": True},
    accumulator=lambda offered: AnthropicAccumulator(),
)
