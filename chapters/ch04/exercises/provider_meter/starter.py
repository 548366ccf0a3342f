"""`ProviderMeter`: the tokens of a run, by who wrote the replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chapters import ch04
from shared.events import Event, MessageAdded
from shared.messages import AssistantMessage, Origin, Usage
from shared.plan import Kit, Plan

HEADINGS = ("api", "provider", "model", "replies", "input", "cached", "output", "thinking")
NUMBERS = 5  # so many columns, the last ones, are aligned to the right


@dataclass(frozen=True, slots=True)
class Spent:
    """What a number of replies has cost: the tokens of those that say, the count of the others.

    Of all `replies`, `unknown` came without usage. `usage` is the sum of the rest.
    """

    replies: int = 0
    unknown: int = 0
    usage: Usage = field(default_factory=lambda: Usage(0, 0))

    def with_reply(self, usage: Usage | None) -> Spent:
        """The same, and one reply more."""
        # TODO: Count the reply; add its tokens, or count it as unknown.
        raise NotImplementedError("your turn")

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.replies + other.replies, self.unknown + other.unknown, self.usage + other.usage
        )


class ProviderMeter:
    """A listener that adds up what replies cost, for each origin apart.

    It counts from the moment it is made, over all runs of the conversations that it listens to.
    """

    def __init__(self) -> None:
        self._spent: dict[Origin | None, Spent] = {}

    def listen(self, event: Event) -> None:
        """Count each reply once, however it ended. Every other event is none of its business."""
        # TODO: Which event comes exactly once for each reply? Put it to those of its origin.
        raise NotImplementedError("your turn")

    @property
    def spent(self) -> Mapping[Origin | None, Spent]:
        """What each origin has cost, in the order in which they first replied.

        The origin None stands for replies that no provider wrote.
        """
        return dict(self._spent)

    def total(self) -> Spent:
        """What all of it has cost."""
        # TODO: Add up everything that was spent.
        raise NotImplementedError("your turn")

    def table(self) -> str:
        """One line for each origin; then, if there are several, one for all of them."""
        # TODO: Rows of `HEADINGS`, then one for each origin, then the total. `aligned` does it.
        raise NotImplementedError("your turn")


def amounts(spent: Spent) -> tuple[str, str, str, str, str]:
    """The last five cells of a line: replies, input, cached, output, thinking."""
    # TODO: Numbers with commas. What is not known is no zero: `?`, or `1,200 + ?`.
    raise NotImplementedError("your turn")


def aligned(rows: Iterable[Sequence[str]]) -> str:
    """Rows of equally many cells as lines of text: words to the left, numbers to the right."""
    lines = [tuple(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    first = len(widths) - NUMBERS
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place < first else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def plan(kit: Kit, meter: ProviderMeter) -> Plan:
    """Chapter 4's agent with the meter running."""
    # TODO: The meter is a listener, and one of five kinds of things that a plan can take.
    raise NotImplementedError("your turn")
