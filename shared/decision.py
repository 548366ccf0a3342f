"""A decision is a value: what to do with a call, why, and who says so."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Behaviour(StrEnum):
    """What a participant may say about a call, from the strictest to silence."""

    DENY = "deny"
    ASK = "ask"
    ALLOW = "allow"
    PASS = "pass"


@dataclass(frozen=True, slots=True)
class Decision:
    """What one participant says, or what came of all of them together.

    `by_person` is true for what a person decided: in a rules file, by an "always", or by answering.
    Such a yes answers a question before it is asked; it never outweighs a no, nor the wish of a
    person to be asked.
    """

    behaviour: Behaviour
    reason: str
    source: str
    by_person: bool = False
