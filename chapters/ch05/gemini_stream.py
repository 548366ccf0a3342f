"""Gemini, streamed: every event is an answer of its own, with some more parts in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.gemini import GEMINI
from chapters.ch04.gemini import path as unstreamed
from chapters.ch04.gemini_reply import STOP_REASONS, blocked, parts_of, reply_part
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, objects, words
from chapters.ch05.accumulator import (
    REST_BEHIND_A_REASON,
    Pieces,
    StreamWire,
    given,
    refuse_errors,
)
from shared.events import (
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import FINISHED, StopReason, ToolCall

IN_PIECES = ("partialArgs", "willContinue")  # of a call whose arguments are still to come

NOT_ENDED_BADLY = FINISHED | {StopReason.MISSING}


def path(target: Target) -> str:
    """Where a request goes whose answer is streamed. The client adds how."""
    return unstreamed(target).replace(":generateContent", ":streamGenerateContent")


@dataclass(slots=True)
class Running:
    """A text, or a thought, that the next event may go on with."""

    thought: bool
    pieces: Pieces = field(default_factory=Pieces)


# region: accumulator
class GeminiAccumulator:
    """Puts the parts of a reply together.

    Calls come whole. Texts come in pieces, and pieces of one kind are one part. What is signed is a
    part of its own: the signature has to go back on what it came with.
    """

    def __init__(self) -> None:
        self._parts: list[Json] = []
        self._running: Running | None = None
        self._begun = False
        self._finish = ""
        self._more = False  # something came behind a finish reason
        self._around: Json = {}
        self._usage: Json = {}

    def feed(self, event: Json) -> Iterator[StreamEvent]:
        """Take in one event of the stream."""
        refuse_errors(event)
        self._usage |= given(event.get("usageMetadata"))
        if feedback := given(event.get("promptFeedback")):
            self._around["promptFeedback"] = feedback
        for candidate in objects(event, "candidates"):
            if candidate.get("index"):
                continue  # another answer to the same question, which nobody asked for
            parts = parts_of(candidate)
            self._more = self._more or (bool(self._finish) and bool(parts))
            self._conclude(words(candidate, "finishReason"))
            for part in parts:
                yield from self._take(part)
        if self._finish:  # word that the prompt is blocked counts beside an answer, too
            self._conclude(blocked(self._around))

    def end(self) -> Iterator[StreamEvent]:
        """Close the text that was still running."""
        yield from self._close()

    @property
    def finished(self) -> bool:
        """Whether a finish reason has come, or word that the prompt is not answered at all."""
        return bool(self._finish) or (bool(blocked(self._around)) and not self._begun)

    @property
    def rest(self) -> float | None:
        """How long to listen on, in seconds, when there is a finish reason: no event is the last.

        A server that gives a reason with each event has to end the stream.
        """
        return REST_BEHIND_A_REASON if self.finished and not self._more else None

    def answer(self) -> Json:
        """The reply as it would have come in one piece."""
        content = {"role": "model", "parts": self._parts}
        candidate = {"content": content, "finishReason": self._finish}
        candidates = [candidate] if self._begun else []
        return {**self._around, "candidates": candidates, "usageMetadata": self._usage or None}

    def _conclude(self, reason: str) -> None:
        """Take the reason why the reply ended. One not to use it is not taken back."""
        self._begun = True
        if reason and STOP_REASONS.get(self._finish) in NOT_ENDED_BADLY:
            self._finish = reason

    def _take(self, part: Json) -> Iterator[StreamEvent]:
        """One part of an event. Chapter 4 tells what it is: a call, a text, a thought, nothing."""
        for read in reply_part(part):
            if not isinstance(read, ToolCall):
                yield from self._say(part)
                continue
            if any(part["functionCall"].get(name) for name in IN_PIECES):
                raise UnreadableReply("a function call comes in pieces, which was not asked for")
            yield from self._close()
            yield from called(len(self._parts), read)
            self._parts.append(part)

    def _say(self, said: Json) -> Iterator[StreamEvent]:
        thought, signature = bool(said.get("thought")), words(said, "thoughtSignature")
        running = self._running
        if running is None or running.thought is not thought or signature:
            yield from self._close()
            running = self._running = Running(thought)
            begins = ThinkingStarted if thought else TextStarted
            yield begins(len(self._parts))
        yield from self._tell(running, running.pieces.add(text_in(said)))
        if signature:
            yield from self._close(signature)

    def _tell(self, running: Running, text: str) -> Iterator[StreamEvent]:
        if text:
            grows = ThinkingDelta if running.thought else TextDelta
            yield grows(len(self._parts), text)

    def _close(self, signature: str = "") -> Iterator[StreamEvent]:
        running, self._running = self._running, None
        if running is None:
            return
        yield from self._tell(running, running.pieces.end())
        ends = ThinkingEnded if running.thought else TextEnded
        yield ends(len(self._parts), running.pieces.text)
        part: Json = {"text": running.pieces.text}
        if running.thought:
            part["thought"] = True
        if signature:
            part["thoughtSignature"] = signature
        self._parts.append(part)


# endregion: accumulator


def called(part: int, call: ToolCall) -> Iterator[StreamEvent]:
    """A call, which comes whole: it begins, grows and ends at once."""
    yield ToolCallStarted(part, call.id, call.name)
    yield ToolCallDelta(part, call.arguments)
    yield ToolCallEnded(part, call)


def text_in(part: Json) -> str:
    """The text of a part as it came: a half of a character may be at its end."""
    text = part.get("text")
    return text if isinstance(text, str) else ""


GEMINI_STREAM = StreamWire(
    wire=replace(GEMINI, path=path),
    fields=lambda request, target: {},
    accumulator=lambda offered: GeminiAccumulator(),
)
