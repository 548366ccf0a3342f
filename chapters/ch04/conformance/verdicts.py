"""What came of a row: it holds, it does not, or it could not be played."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from chapters.ch01.chat_wire import clean
from chapters.ch04.conformance.rows import Row

SHOWN = 300  # characters of a value, in a difference


class Outcome(StrEnum):
    """What can come of a row."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not as it should be."""

    what: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of a row, and why. `adapter` is the record that it was played to."""

    row: Row
    adapter: str
    outcome: Outcome
    differences: tuple[Difference, ...] = ()
    reason: str = ""


def differ(what: str, expected: Any, got: Any) -> Iterator[Difference]:
    """A difference if the values are not the same JSON: 1 is neither true nor 1.0."""
    expected, got = shown(expected), shown(got)
    if expected != got:
        yield Difference(what, shorten(expected), shorten(got))


def shown(value: Any) -> str:
    """A value as JSON, with a replacement character for every half of a surrogate pair."""
    return clean(json.dumps(value, ensure_ascii=False, sort_keys=True, default=str))


def shorten(text: str) -> str:
    """The beginning of a text that may be long."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text):,} characters)"
