"""What has come of a reply so far, in the words of the console."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.text import one_line, shorten

LONGEST_NAME = 40


@dataclass(slots=True)
class ArrivingCall:
    """A tool call while it is being written."""

    name: str
    size: int = 0  # characters of its arguments

    def __str__(self) -> str:
        return f"{one_line(shorten(self.name, LONGEST_NAME)) or 'a tool'}, {self.size:,} characters"


@dataclass(slots=True)
class Arriving:
    """A reply while it arrives: its text, the size of the last thought, and its calls by part."""

    said: list[str] = field(default_factory=list)
    thoughts: int = 0
    thought: int = 0  # characters
    calls: dict[int, ArrivingCall] = field(default_factory=dict)
    written: int = 0  # the part of the call that grew last

    @property
    def anything(self) -> bool:
        """Whether there is something that a person may have seen."""
        return bool(self.said or self.thoughts or self.calls)

    def begin_call(self, part: int, name: str) -> None:
        """One more call begins."""
        self.calls[part] = ArrivingCall(name)
        self.written = part

    def grow_call(self, part: int, size: int) -> None:
        """`size` more characters of a call have come."""
        if call := self.calls.get(part):
            call.size += size
            self.written = part

    def end_call(self, part: int, name: str, size: int) -> None:
        """A call is whole, and its name and size are known."""
        self.calls[part] = ArrivingCall(name, size)

    def call_so_far(self) -> str:
        """The call that is being written, and how much of it there is."""
        others = len(self.calls) - 1
        beside = f" ({others} more in this reply)" if others else ""
        return f"{self.calls[self.written]} so far{beside}"

    def broken(self, error: BaseException | None) -> str:
        """That it broke off, and where."""
        # What is no Exception comes from the person: Ctrl-C, or the end of the program.
        how = "broke off" if isinstance(error, Exception) else "was stopped"
        where = f", in a call: {self.calls[self.written]}" if self.calls else ""
        return f"The reply {how} here{where}. Nothing of it was used."
