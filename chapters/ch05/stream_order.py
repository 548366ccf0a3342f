"""What a listener was told of one reply, and whether it was told in order."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
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
from shared.messages import ToolCall

TEXT, THINKING, CALL = "text", "thinking", "call"
Started = TextStarted | ThinkingStarted | ToolCallStarted
Delta = TextDelta | ThinkingDelta | ToolCallDelta
Ended = TextEnded | ThinkingEnded | ToolCallEnded
KINDS: dict[type, str] = {
    **dict.fromkeys([TextStarted, TextDelta, TextEnded], TEXT),
    **dict.fromkeys([ThinkingStarted, ThinkingDelta, ThinkingEnded], THINKING),
    **dict.fromkeys([ToolCallStarted, ToolCallDelta, ToolCallEnded], CALL),
}


@dataclass(slots=True)
class Part:
    """A part of a reply, as far as it was told."""

    kind: str
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: ToolCall | str | None = None

    @property
    def text(self) -> str:
        """The pieces, joined."""
        return "".join(self.pieces)


def readings(part: Part) -> Iterator[str]:
    """What the pieces of a call can come to: all of them, or the last one if each repeats the one
    before it; what either is without a second layer of JSON; an empty object if there are none."""
    if not part.text:
        yield "{}"
    for text in (part.text, *part.pieces[-1:]):
        yield text
        try:
            inside = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(inside, str):
            yield inside


# region: told
@dataclass(frozen=True, slots=True)
class Told:
    """What was told: texts and calls in the order of the reply, and thinking.

    `ends` is how many replies came to an end, `faults` what was told out of order.
    """

    parts: tuple[str | ToolCall, ...]
    thinking: str
    ends: int
    faults: tuple[str, ...]

    @property
    def text(self) -> str:
        """All the text."""
        return "".join([part for part in self.parts if isinstance(part, str)])

    @property
    def calls(self) -> list[ToolCall]:
        """The calls, with the arguments as far as they came."""
        return [part for part in self.parts if isinstance(part, ToolCall)]


def told_of(events: Sequence[Event]) -> Told:
    """What `events` told of the reply that came last."""
    listener = Listener()
    for event in events:
        listener.hear(event)
    parts: list[str | ToolCall] = []
    thinking = []
    for number in sorted(listener.parts):
        part = listener.parts[number]
        if part.kind == THINKING:
            thinking.append(part.text)
        elif part.kind == TEXT:
            parts.append(part.text)
        elif isinstance(part.whole, ToolCall):
            parts.append(part.whole)
        else:
            parts.append(ToolCall(part.id, part.name, part.text))
    return Told(tuple(parts), "".join(thinking), listener.ends, tuple(listener.faults))


# endregion: told


class Listener:
    """Follows the replies of a model, and keeps what is not in order."""

    def __init__(self) -> None:
        self.parts: dict[int, Part] = {}
        self.faults: list[str] = []
        self.ends = 0
        self._open = False

    def hear(self, event: Event) -> None:
        """One event."""
        match event:
            case ReplyStarted():
                self._expect(not self._open, "a reply starts before the last one has ended")
                self.parts, self._open = {}, True
            case ReplyEnded():
                self._end(event)
            case _ if type(event) in KINDS:
                self._expect(self._open, f"{event} outside of a reply")
                self._part(event)  # type: ignore[arg-type]

    def _expect(self, holds: bool, fault: str) -> None:
        if not holds:
            self.faults.append(fault)

    def _part(self, event: Started | Delta | Ended) -> None:
        kind = KINDS[type(event)]
        if isinstance(event, Started):
            self._expect(event.part not in self.parts, f"part {event.part} starts twice")
            self._expect(event.part == len(self.parts), f"part {event.part} is out of turn")
            called = event if isinstance(event, ToolCallStarted) else None
            self.parts[event.part] = Part(
                kind, called.id if called else "", called.name if called else ""
            )
            return
        part = self.parts.get(event.part)
        if part is None or part.kind != kind:
            self.faults.append(f"{event} in a part that is no {kind}, or has not begun")
            return
        self._expect(part.whole is None, f"{event} after its part has ended")
        match event:
            case TextDelta() | ThinkingDelta():
                part.pieces.append(event.text)
            case ToolCallDelta():
                part.pieces.append(event.arguments)
            case TextEnded() | ThinkingEnded():
                part.whole = event.text
                self._expect(event.text == part.text, f"{event}, and its pieces are {part.text!r}")
            case ToolCallEnded():
                part.whole = event.call
                same = event.call.arguments in readings(part)
                self._expect(same, f"{event}, and its pieces are {part.text!r}")

    def _end(self, event: ReplyEnded) -> None:
        if not self._open:  # it failed before anything came
            self.parts = {}
        self.ends, self._open = self.ends + 1, False
        self._expect((event.reply is None) != (event.error is None), "an end that is no end")
        if event.reply is not None:
            for number, part in self.parts.items():
                self._expect(part.whole is not None, f"part {number} has no end")
