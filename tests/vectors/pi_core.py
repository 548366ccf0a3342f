"""Runs rows about another agent library's converters and streams against our functions.

    python -m tests.vectors.pi_core FILE.jsonl [--area AREA]
    python -m tests.vectors.pi_core --decisions

Prints every row that fails, with what was expected and what was given, and a closing count. Where
we decide differently, our own value is expected; the count names the decision. Exit status: 0 if no
row failed, 1 if one did, 2 if the file or one of its rows cannot be used.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from labs.desk.decision_table import decision_table
from tests.vectors.peer_decisions import TEXTS, decide
from tests.vectors.peer_outcome import outcome
from tests.vectors.peer_provider import NotOurs
from tests.vectors.peer_row import AREAS, LATER, Json, Row, UnusableFile, load

__all__ = ["Row", "UnusableFile", "Verdict", "judge", "load", "main"]


SAID = ("role", "content", "api", "provider", "model", "stopReason")
ANSWERED = ("role", "toolCallId", "toolName", "isError")


class UnusableRow(Exception):
    """The row cannot be checked; the text says why."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one row: `complaint` is "" if it holds, `decisions` are those that it is under,
    `absent` says why it was not run."""

    decisions: tuple[str, ...] = ()
    complaint: str = ""
    absent: str = ""


def judge(row: Row) -> Verdict:
    """Run one row."""
    if row.area in LATER:
        return Verdict(absent=f"until chapter {LATER[row.area]}: {row.area}")
    try:
        expect, names = decide(row)
        expect = in_one_form(expect)
    except (LookupError, TypeError, ValueError, AttributeError) as problem:
        raise UnusableRow(f"its `expect` has no known form ({problem!r})") from None
    try:
        given = in_one_form(outcome(row, expect))
    except NotOurs as reason:
        return Verdict(absent=f"here: {reason}")
    except Exception as problem:
        return Verdict(names, f"expected {_told(expect)}\n  given    {problem!r}")
    if expect == given:
        return Verdict(names)
    return Verdict(names, f"expected {_told(expect)}\n  given    {_told(given)}")


def in_one_form(told: Json) -> Json:
    """The same, whichever way the row tells it: we keep one text where others keep several."""
    messages = told.get("messages")
    if isinstance(messages, list) and "inputMutated" in told:
        told = {**told, "messages": [_plain(message) for message in messages]}
    system = told.get("systemInstruction")
    if isinstance(system, dict):
        told = {**told, "systemInstruction": "".join(part["text"] for part in system["parts"])}
    return told


def _plain(message: Json) -> Json:
    if message["role"] != "toolResult":
        return {key: message[key] for key in SAID if key in message}
    content: list[Json] = []
    for is_text, group in groupby(message["content"], lambda block: block["type"] == "text"):
        blocks = list(group)
        if is_text:
            text = "\n".join([block["text"] for block in blocks])
            blocks = [{"type": "text", "text": text}] if text else []
        content += blocks
    return {key: message[key] for key in ANSWERED if key in message} | {"content": content}


def _told(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def main(arguments: list[str]) -> int:
    """Run a file of rows and say what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.vectors.pi_core")
    parser.add_argument("file", nargs="?", type=Path, help="rows, one a line")
    parser.add_argument("--area", choices=[*AREAS, *LATER], help="only rows of this area")
    parser.add_argument("--decisions", action="store_true", help="show where we decide differently")
    asked = parser.parse_args(arguments)
    if asked.decisions:
        print("\n\n".join(map(decision_table, TEXTS)))
        return 0
    if asked.file is None:
        parser.error("name a file, or ask for --decisions")
    try:
        rows = load(asked.file)
    except UnusableFile as error:
        print(error, file=sys.stderr)
        return 2
    return report([row for row in rows if asked.area in (None, row.area)])


def report(rows: list[Row]) -> int:
    """Print what came of the rows; the exit status."""
    held, failed, unusable = 0, 0, 0
    decided, absent = Counter[str](), Counter[str]()
    for row in rows:
        try:
            verdict = judge(row)
        except UnusableRow as problem:
            unusable += 1
            print(f"row {row.id} ({row.area}) cannot be used: {problem}", file=sys.stderr)
            continue
        if verdict.absent:
            absent[verdict.absent] += 1
        elif verdict.complaint:
            failed += 1
            under = f" under {', '.join(verdict.decisions)}" if verdict.decisions else ""
            print(f"{row.id} ({row.area}){under}:\n  {verdict.complaint}")
        elif verdict.decisions:
            decided[" + ".join(verdict.decisions)] += 1
        else:
            held += 1
    print(
        f"{len(rows)} rows: {held} held, {decided.total()} held by decision, "
        f"{absent.total()} not applicable, {failed} failed"
        + (f", {unusable} unusable" if unusable else "")
    )
    for name, number in sorted(decided.items()):
        print(f"  decision {name}: {number}")
    for reason, number in sorted(absent.items()):
        print(f"  not applicable {reason}: {number}")
    if unusable:
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
