"""An audit as a person reads it: one decision after the other, and which lines are broken."""

from __future__ import annotations

import json
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO

from shared.screen import Screen, Style
from shared.text import shorten, visible

GUTTER = 8
MAX_VALUE = 240  # characters of an argument that are shown; the file has all of them
MAX_LINE = 16 * 1024 * 1024  # bytes; no call is that long, and a line must fit into memory
TEXTS = ("time", "call_id", "tool", "effect", "decision", "reason", "source", "who")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of an audit: a decision, or what is wrong with it."""

    number: int
    entry: dict[str, Any]
    problem: str | None = None


# region: read
def pieces(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; of one that is longer than MAX_LINE only so much that it shows."""
    while data := file.readline(MAX_LINE + 1):
        yield data
        if len(data) > MAX_LINE:
            while data and not data.endswith(b"\n"):
                data = file.readline(MAX_LINE)


def read_lines(raw: Iterable[bytes]) -> Iterator[Line]:
    """The lines of an audit, numbered from 1. A broken one is reported, an empty one skipped."""
    for number, data in enumerate(raw, 1):
        if not data.strip():
            continue
        if len(data) > MAX_LINE:
            yield Line(number, {}, f"is longer than {MAX_LINE:,} bytes")
            continue
        try:
            entry = json.loads(data.decode())
        except UnicodeDecodeError:
            yield Line(number, {}, "is not UTF-8 text")
        except (ValueError, RecursionError):
            cut = not data.endswith(b"\n")
            yield Line(number, {}, "is cut off" if cut else "is not JSON")
        else:
            yield Line(number, entry, _problem(entry))


def _problem(entry: Any) -> str | None:
    if not isinstance(entry, dict):
        return "is not a JSON object"
    wrong = [name for name in TEXTS if not isinstance(entry.get(name), str)]
    if not isinstance(entry.get("arguments"), dict):
        wrong.append("arguments")
    return f"lacks {', '.join(wrong)}" if wrong else None


# endregion: read


def show(raw: Iterable[bytes], screen: Screen, *, last: int | None = None) -> int:
    """Write the decisions, the newest last, and their sum. Returns how many lines are broken."""
    kept: deque[Line] = deque(maxlen=None if last is None else min(last, sys.maxsize))
    counts: Counter[str] = Counter()
    broken = 0
    for line in read_lines(raw):
        if line.problem:
            broken += 1
        else:
            counts[line.entry["decision"]] += 1
        if last is None:
            _show(line, screen)
        else:
            kept.append(line)
    for line in kept:
        _show(line, screen)
    said = ", ".join(f"{_one_line(name)} {count}" for name, count in sorted(counts.items()))
    total = counts.total()
    screen.line(f"{total} decision{'' if total == 1 else 's'}{f': {said}' if said else ''}")
    if broken:
        lines = "1 line is" if broken == 1 else f"{broken} lines are"
        screen.line(f"{lines} broken, so this audit does not tell everything.", Style.BAD)
    return broken


def _show(line: Line, screen: Screen) -> None:
    if line.problem:
        screen.labelled("broken", f"line {line.number} {line.problem}", style=Style.BAD)
        screen.line()
        return
    entry = line.entry
    decision = entry["decision"]
    head = f"{entry['tool']} ({entry['effect']})  {_time(entry['time'])}  {entry['call_id']}"
    style = Style.GOOD if decision == "allow" else Style.BAD
    label = _one_line(decision)
    screen.labelled(f"{label:<{GUTTER - 1}} ", _one_line(head), gutter=GUTTER, style=style)
    for name, value in entry["arguments"].items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        _detail(screen, f"{name}: {shorten(shown, MAX_VALUE)}")
    _detail(screen, f"{entry['source']} ({entry['who']}): {entry['reason']}")
    screen.line()


def _detail(screen: Screen, text: str) -> None:
    screen.labelled("", _one_line(text), gutter=GUTTER)


def _one_line(text: str) -> str:
    """`text` so that nothing in it can look like a line of this screen's own."""
    return visible(text.replace("\n", "\\n").replace("\t", "\\t"))


def _time(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return text
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError):  # no time, or one before the first year or after the last
        return text
