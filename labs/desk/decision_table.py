"""Where the workbook's converters decide differently from others, as a table of the text."""

from __future__ import annotations

import tomllib
from pathlib import Path

from labs.desk.book import DeskError


def decision_table(path: Path) -> str:
    """The decisions in a file, one a row: its tables are names, with theirs, ours and why.

    Raises DeskError for a file that is not there or not of this form.
    """
    try:
        decisions = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DeskError(f"{path.name} cannot be read: {error}") from None
    rows = ["| Decision | Elsewhere | Here | Why |", "| --- | --- | --- | --- |"]
    for name, told in decisions.items():
        cells = [name.replace("-", " "), told["theirs"], told["ours"], told["why"]]
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows)
