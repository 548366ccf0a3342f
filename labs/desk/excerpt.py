"""Pieces of the workbook's own source, cut out between region markers for the text."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

from labs.desk.book import DeskError

MARKER = re.compile(r"^\s*(?:#|//|<!--)\s*(?P<kind>region|endregion):\s*(?P<name>[\w-]+)")
LANGUAGES = {
    ".py": "python",
    ".toml": "toml",
    ".json": "json",
    ".jsonl": "json",
    ".md": "markdown",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".example": "ini",
}


def cut_region(root: Path, path: str, name: str) -> str:
    """The lines of `path` between `# region: name` and `# endregion: name`, as a fenced block.

    The code is moved to the left margin, and markers of other regions in it are left out. Raises
    DeskError unless there is exactly one such region, with something in it.
    """
    file = root / path
    if not file.is_file():
        raise DeskError(f"there is no file {path}")
    lines = file.read_text(encoding="utf-8").splitlines()
    begin = _only(lines, "region", name, path)
    end = _only(lines, "endregion", name, path)
    if end < begin:
        raise DeskError(f"{path}: region {name!r} ends before it begins")
    kept = [line for line in lines[begin + 1 : end] if not MARKER.match(line)]
    code = dedent("\n".join(kept)).strip("\n")
    if not code.strip():
        raise DeskError(f"{path}: region {name!r} is empty")
    return fenced(re.sub(r"\n{3,}", "\n\n\n", code), LANGUAGES.get(file.suffix, "text"))


def _only(lines: list[str], kind: str, name: str, path: str) -> int:
    places = [
        number
        for number, line in enumerate(lines)
        if (match := MARKER.match(line)) and (match["kind"], match["name"]) == (kind, name)
    ]
    if len(places) != 1:
        found = "no line" if not places else f"{len(places)} lines"
        raise DeskError(f"{path}: {found} with `# {kind}: {name}`, there must be one")
    return places[0]


def fenced(text: str, language: str) -> str:
    """A fenced block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"^\s*(`{3,})", text, re.M)), default=2)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"
