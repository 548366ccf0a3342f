"""The verdicts for a person, or for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from chapters.ch04.conformance.verdicts import Outcome, Verdict
from chapters.ch04.known_servers import KNOWN
from shared.screen import Screen, Style
from shared.text import visible

GUTTER = 16
COLUMNS = (Outcome.HOLDS, Outcome.FAILS, Outcome.NOT_APPLICABLE)


# region: table
def show(screen: Screen, verdicts: Sequence[Verdict]) -> None:
    """Print what holds and what does not, adapter by adapter, then the numbers."""
    for adapter in dict.fromkeys(verdict.adapter for verdict in verdicts):
        played = [
            each
            for each in verdicts
            if each.adapter == adapter and each.outcome is not Outcome.NOT_APPLICABLE
        ]
        if played:
            screen.line(visible(label(adapter)), Style.STRONG)
        for verdict in played:
            show_row(screen, verdict)
    reasons = Counter(each.reason for each in verdicts if each.reason)
    for reason, number in reasons.items():
        rows = "1 row" if number == 1 else f"{number} rows"
        screen.labelled("not applicable", visible(f"{rows}: {reason}"), gutter=GUTTER)
    show_numbers(screen, verdicts)


def show_row(screen: Screen, verdict: Verdict) -> None:
    """One row in one or two lines, and what is wrong with it."""
    good = verdict.outcome is Outcome.HOLDS
    mark = f"  {screen.mark(good=good)} "
    style = Style.GOOD if good else Style.BAD
    text = f"{verdict.row.file}: {verdict.row.what}" if verdict.row.what else verdict.row.file
    screen.labelled(mark, visible(text), gutter=len(mark), style=style)
    for difference in verdict.differences:
        screen.labelled("", visible(difference.what), gutter=6)
        screen.labelled("", visible(f"expected  {difference.expected}"), gutter=8)
        screen.labelled("", visible(f"got       {difference.got}"), gutter=8)


def show_numbers(screen: Screen, verdicts: Sequence[Verdict]) -> None:
    """How many rows of each adapter hold, do not hold, and could not be played."""
    screen.line()
    names = list(dict.fromkeys(each.adapter for each in verdicts))
    left = 2 + max(len("adapter"), *(len(label(name)) for name in names))
    head = "".join(f"{column.value:>16}" for column in COLUMNS)
    screen.line(f"{'adapter':{left}}{head}", Style.STRONG)
    for name in names:
        numbers = count(verdicts, name)
        row = "".join(f"{numbers[column]:16}" for column in COLUMNS)
        style = Style.BAD if numbers[Outcome.FAILS] else Style.PLAIN
        screen.line(f"{visible(label(name)):{left}}{row}", style)
    failed = sum(each.outcome is Outcome.FAILS for each in verdicts)
    held = sum(each.outcome is Outcome.HOLDS for each in verdicts)
    screen.line()
    if failed:
        screen.line(f"{failed} of {failed + held} rows played do not hold.")
    elif held:
        screen.line("Every row played holds." if held > 1 else "The row played holds.")
    else:
        screen.line("Nothing was played.")


# endregion: table


def label(adapter: str) -> str:
    """The name of a record, with that of its API where it is another."""
    record = KNOWN.get(adapter)
    return adapter if record is None or record.api == adapter else f"{adapter} ({record.api})"


def count(verdicts: Sequence[Verdict], adapter: str) -> Counter[Outcome]:
    """The outcomes of one adapter's rows."""
    return Counter(each.outcome for each in verdicts if each.adapter == adapter)


def as_json(verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """All of it as JSON."""
    names = dict.fromkeys(each.adapter for each in verdicts)
    return {
        "ok": all(each.outcome is not Outcome.FAILS for each in verdicts),
        "adapters": {
            name: {column.value: count(verdicts, name)[column] for column in COLUMNS}
            for name in names
        },
        "rows": [
            {
                "file": each.row.file,
                "api": each.row.api,
                "mode": each.row.mode,
                "adapter": each.adapter,
                "outcome": each.outcome.value,
                "reason": each.reason,
                "differences": [
                    {"what": one.what, "expected": one.expected, "got": one.got}
                    for one in each.differences
                ],
            }
            for each in verdicts
        ],
    }
