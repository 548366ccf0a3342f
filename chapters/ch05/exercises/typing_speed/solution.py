"""`TypingSpeed`: how fast the model writes, by a clock that is handed in."""

from __future__ import annotations

from dataclasses import dataclass, field

from chapters import ch05
from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
    RunStarted,
    TextDelta,
    ThinkingDelta,
)
from shared.plan import Kit, Plan
from shared.ports import Clock


@dataclass(frozen=True, slots=True)
class Speed:
    """How much was written in how many seconds."""

    characters: int = 0
    words: int = 0
    seconds: float = 0.0

    def __add__(self, other: Speed) -> Speed:
        return Speed(
            self.characters + other.characters,
            self.words + other.words,
            self.seconds + other.seconds,
        )

    def __str__(self) -> str:
        """For a person, in one line."""
        # solution: Divide, if there is something to divide by.
        if self.seconds <= 0:
            return "-"
        characters, words = self.characters / self.seconds, self.words / self.seconds
        return f"{characters:.0f} characters and {words:.1f} words a second"
        # end solution


@dataclass(slots=True)
class Part:
    """A part of a reply that grows: its pieces, and when the first and the last one came."""

    first: float
    last: float
    pieces: list[str] = field(default_factory=list)

    @property
    def speed(self) -> Speed:
        """What can be said of it: nothing if all of it came at one moment."""
        # solution: Count characters and words of the whole. A word may come in several pieces.
        if self.last <= self.first:
            return Speed()
        text = "".join(self.pieces)
        return Speed(len(text), len(text.split()), self.last - self.first)
        # end solution


class TypingSpeed:
    """A listener that measures how fast text and thinking are written, in each run anew."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._text = Speed()
        self._thinking = Speed()
        self._replies = 0
        # What is arriving, by the kind of its pieces and the number of the part.
        self._parts: dict[tuple[type, int], Part] = {}

    def listen(self, event: Event) -> None:
        """Measure what arrives; count it when its reply has ended as one."""
        # solution: Look at the clock for each piece. When does a piece count, and when not?
        match event:
            case RunStarted():
                self._text, self._thinking, self._replies = Speed(), Speed(), 0
                self._parts = {}
            case ReplyStarted():
                self._parts = {}
            case TextDelta() | ThinkingDelta():
                now = self._clock.now()
                part = self._parts.setdefault((type(event), event.part), Part(now, now))
                part.last = now
                part.pieces.append(event.text)
            case ReplyEnded(reply=reply):
                if reply is not None:
                    self._count()
                self._parts = {}
            case _:
                pass  # calls are not for reading

    def _count(self) -> None:
        self._replies += 1
        for (kind, _), part in self._parts.items():
            if kind is TextDelta:
                self._text += part.speed
            else:
                self._thinking += part.speed
        # end solution

    @property
    def text(self) -> Speed:
        """What was said in the run so far."""
        return self._text

    @property
    def thinking(self) -> Speed:
        """What was thought in the run so far."""
        return self._thinking

    @property
    def replies(self) -> int:
        """How many replies of the run have ended."""
        return self._replies

    def summary(self) -> str:
        """The run so far, for a person."""
        return f"replies: {self.replies}\ntext: {self.text}\nthinking: {self.thinking}"


def plan(kit: Kit, meter: TypingSpeed) -> Plan:
    """Chapter 5's agent with the meter running."""
    # solution: The meter is a listener.
    return ch05.plan(kit).with_listeners(meter.listen)
    # end solution
