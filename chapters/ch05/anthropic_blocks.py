"""The blocks of a message of Anthropic, while they grow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch04.anthropic_reply import part_of
from chapters.ch04.wire import Json
from chapters.ch05.accumulator import Pieces, no_arguments
from shared.events import (
    StreamEvent,
    TextDelta,
    TextEnded,
    ThinkingDelta,
    ThinkingEnded,
    ToolCallDelta,
    ToolCallEnded,
)
from shared.messages import ToolCall

# What a block of each kind grows by: a kind of delta, and where in it the piece is. The other
# kinds of block are work of the provider's own, which nobody here asked for.
GROWS_BY = {
    "text": ("text_delta", "text"),
    "thinking": ("thinking_delta", "thinking"),
    "redacted_thinking": ("", ""),
    "tool_use": ("input_json_delta", "partial_json"),
}
PIECES = {delta for delta, _ in GROWS_BY.values() if delta}


@dataclass(slots=True)
class Block:
    """A block that may still grow. `part` is its place in the reply, None if it is not ours.

    `stopped` tells whether the provider has closed it; it is `closed` when nothing more is taken.
    """

    kind: str
    begun: Json
    part: int | None
    pieces: Pieces = field(default_factory=Pieces)
    signature: list[str] = field(default_factory=list)
    closed: bool = False
    stopped: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether it is a call of which nobody said what it is called with, not even nothing."""
        begun = self.kind == "tool_use" and not self.stopped
        return begun and not self.pieces.text and no_arguments(self.begun.get("input"))

    def begins_again(self, begun: Json) -> bool:
        """Whether a beginning is the one of this block, said twice."""
        same = begun == self.begun and not self.pieces.text
        return not self.closed and (same or (bool(begun.get("id")) and self._is_call(begun)))

    def _is_call(self, begun: Json) -> bool:
        return begun.get("type") == self.kind and begun.get("id") == self.begun.get("id")

    def whole(self) -> Json:
        """The block as it stands in an answer that comes in one piece."""
        said = self.pieces.text
        if self.kind == "tool_use":
            # As text: what it means is for the dispatcher to say, once, when all of it is here.
            # An empty object at the beginning means that the arguments are still to come.
            begun = self.begun.get("input")
            return {**self.begun, "input": said or arguments_of("" if begun == {} else begun)}
        signed = {"signature": "".join(self.signature)} if self.signature else {}
        grown = {self.kind: said} if self.kind != "redacted_thinking" else {}
        return {**self.begun, **grown, **signed}


def grow(block: Block, piece: Any) -> Iterator[StreamEvent]:
    """A block grows by a piece, which may be empty."""
    if piece is None:
        return
    if not isinstance(piece, str):
        raise UnreadableReply(f"a piece of {block.kind} is not text")
    yield from tell(block, block.pieces.add(piece))


def tell(block: Block, text: str) -> Iterator[StreamEvent]:
    """What can be shown of a block, and could not before."""
    if text and block.part is not None:
        match block.kind:
            case "text":
                yield TextDelta(block.part, text)
            case "tool_use":
                yield ToolCallDelta(block.part, text)
            case _:
                yield ThinkingDelta(block.part, text)


def close(block: Block) -> Iterator[StreamEvent]:
    """A block will not grow any more."""
    if block.closed:
        return
    block.closed = True
    if block.part is None:
        return
    yield from tell(block, block.pieces.end())
    match block.kind:
        case "text":
            yield TextEnded(block.part, block.pieces.text)
        case "tool_use":
            call = part_of(block.whole())
            assert isinstance(call, ToolCall)
            if call.arguments and not block.pieces.text:  # they came with the beginning
                yield ToolCallDelta(block.part, call.arguments)
            yield ToolCallEnded(block.part, call)
        case _:
            yield ThinkingEnded(block.part, block.pieces.text)
