"""A reply that arrives in pieces, put together again: one accumulator for each API.

An accumulator tells what a listener may be shown, and at the end it gives the answer as it would
have come in one piece. Chapter 4's adapters read that. So there is one reading of a reply, and
streaming is another way for the same JSON to arrive.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from chapters.ch01.dispatch import LONE_SURROGATE
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, Wire
from shared.events import StreamEvent
from shared.messages import Request


class Accumulator(Protocol):
    """Puts one answer together."""

    def feed(self, event: Json) -> Iterable[StreamEvent]:
        """Take in one event of the provider, and tell what can be shown of it.

        Raises ReportedError if it says that something went wrong, UnreadableReply if it is no
        event of this API. What it does not know it passes over.
        """
        ...

    def end(self) -> Iterable[StreamEvent]:
        """What is still to be told when the reply has ended: parts that nobody has closed."""
        ...

    @property
    def finished(self) -> bool:
        """Whether the provider has said why the reply ended. Without that it is half a reply."""
        ...

    @property
    def rest(self) -> float | None:
        """How long to listen on, in seconds, when the provider has said all; None before that."""
        ...

    def answer(self) -> Any:
        """The JSON of the answer, as `Wire.reply` reads it. Arguments of calls are raw text.

        Raises UnreadableReply for a call that has begun and never came.
        """
        ...


# Behind the event that ends a reply, and where several may look like the last one.
REST_BEHIND_THE_END, REST_BEHIND_A_REASON = 0.25, 2.0  # seconds


class ReportedError(Exception):
    """The provider reports an error inside a stream. `body` is its error object."""

    def __init__(self, body: object) -> None:
        super().__init__("the provider reports an error")
        self.body = body


# region: wire
@dataclass(frozen=True, slots=True)
class StreamWire:
    """How an API streams: the pure functions of chapter 4, and what is different.

    `fields` are added to a request so that its answer is streamed. `accumulator` starts to put an
    answer together; it is told the names of the tools on offer, as they are on the wire.
    """

    wire: Wire
    fields: Callable[[Request, Target], Json]
    accumulator: Callable[[frozenset[str]], Accumulator]


# endregion: wire


# region: pieces
class Pieces:
    """A text that arrives in pieces. They are joined once, in the end: a text that grows is copied
    with each piece that is added to it.

    A character may be cut in two, as halves of a surrogate pair in two events. The first half waits
    for the other; one that stays alone becomes U+FFFD.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def add(self, piece: str) -> str:
        """Take in a piece, and return what of the text can be shown now and could not before."""
        piece = self._half + piece
        self._half = piece[-1] if "\ud800" <= piece[-1:] <= "\udbff" else ""
        return self._keep(piece.removesuffix(self._half))

    def end(self) -> str:
        """The last of it to be shown: a half that is still waiting."""
        half, self._half = self._half, ""
        return self._keep(half)

    @property
    def text(self) -> str:
        """The whole of it so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return "".join(self._pieces)

    def _keep(self, piece: str) -> str:
        if LONE_SURROGATE.search(piece):
            piece = piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        if piece:
            self._pieces.append(piece)
        return piece


# endregion: pieces


def refuse_errors(container: Json) -> None:
    """Raises ReportedError if there is an error in it, be it empty. Null, "" and false are none."""
    said = container.get("error")
    if said or isinstance(said, dict | list):
        raise ReportedError(said)


def no_arguments(value: object) -> bool:
    """Whether a call says that its arguments are none, or still to come. [], 0 and false are some,
    if not such as can be used."""
    return value is None or value in ("", {})


def given(value: object) -> Json:
    """The fields of an object that are not null; none if it is no object."""
    if not isinstance(value, dict):
        return {}
    return {name: inner for name, inner in value.items() if inner is not None}
