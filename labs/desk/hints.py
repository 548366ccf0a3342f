"""The three hints of an exercise: a nudge, an approach, almost the code."""

from __future__ import annotations

import re

from labs.desk.book import DeskError
from labs.desk.exercises import Exercise

TIERS = 3


def read_hints(exercise: Exercise) -> list[str]:
    """The hints in order. Raises DeskError if there are not exactly three, or one says nothing."""
    if not exercise.hints.is_file():
        raise DeskError(f"{exercise.id} has no hints.md")
    text = exercise.hints.read_text(encoding="utf-8")
    parts = re.split(r"^## (\d+)[ \t]*$", text, flags=re.M)
    numbers, hints = parts[1::2], [part.strip() for part in parts[2::2]]
    if numbers != [str(tier) for tier in range(1, TIERS + 1)]:
        raise DeskError(f"{exercise.id}: hints.md must have the sections ## 1, ## 2 and ## 3")
    if not all(hints):
        raise DeskError(f"{exercise.id}: a hint in hints.md is empty")
    return hints
