"""From Markdown as GitHub shows it to Markdown as a terminal can show it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from labs.desk.diagram import describe

ALERT = re.compile(r"^(\s*>\s*)\[!(\w+)\]\s*$")
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})(.*)$")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+(?:\([^()]*\)[^()\s]*)?)\)")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Neighbouring lines of a text: prose, or one fenced block with its fences."""

    lines: tuple[str, ...]
    fence: str | None = None  # what stands after the opening fence; None for prose

    @property
    def text(self) -> str:
        """The lines, joined."""
        return "\n".join(self.lines)


def for_terminal(markdown: str, *, folder: str, answers: str | None) -> str:
    """The text of a README in `folder` (from the workbook's root), ready for a terminal.

    Comments are left out, alerts get a title, diagrams become arrows, links become paths from the
    root. The answers of the self-test are left out, and `answers` says how to get them, unless it
    is None; what is folded elsewhere is an aside, and is shown.
    """
    pieces: list[str] = []
    for chunk in chunks(_without_comments(markdown)):
        if chunk.fence is None:
            pieces.append(_prose(chunk.text, folder))
        elif chunk.fence.strip() == "mermaid":
            indent = chunk.lines[0][: len(chunk.lines[0]) - len(chunk.lines[0].lstrip())]
            drawn = describe("\n".join(chunk.lines[1:-1]))
            pieces.append("\n".join(indent + line for line in drawn.splitlines()))
        else:
            pieces.append(chunk.text)
    text = _fold("\n".join(pieces), answers)
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def chunks(markdown: str) -> Iterator[Chunk]:
    """The text, divided into prose and fenced blocks."""
    lines: list[str] = []
    opened, info = "", None
    for line in markdown.splitlines():
        mark = FENCE.match(line)
        if not opened and mark and "`" not in mark[3]:
            if lines:
                yield Chunk(tuple(lines))
            lines, opened, info = [line], mark[2], mark[3]
            continue
        lines.append(line)
        if opened and mark and mark[2].startswith(opened) and not mark[3].strip():
            yield Chunk(tuple(lines), info)
            lines, opened, info = [], "", None
    if lines:
        yield Chunk(tuple(lines), info)


def _without_comments(markdown: str) -> str:
    """The text without HTML comments; those in fenced blocks are not comments but examples."""
    kept: list[str] = []
    for chunk in chunks(markdown):
        if chunk.fence is None:
            kept.append(re.sub(r"[ \t]*<!--.*?-->[ \t]*\n?", "", chunk.text + "\n", flags=re.S))
        else:
            kept.append(chunk.text + "\n")
    return "".join(kept)


def _prose(text: str, folder: str) -> str:
    # Links may run over a line's end in a paragraph, and never do in a table.
    parts = re.split(r"^(\|.*)$", "\n".join(_alert(line) for line in text.split("\n")), flags=re.M)
    return "".join(
        LINK.sub(partial(_link, folder=folder, in_table=bool(place % 2)), part)
        for place, part in enumerate(parts)
    )


def _alert(line: str) -> str:
    match = ALERT.match(line)
    if not match:
        return line
    return f"{match[1]}**{match[2].capitalize()}**\n{match[1].rstrip()}"


def _link(match: re.Match[str], *, folder: str, in_table: bool) -> str:
    """A path from the root, an address as it is, nothing for a place in the same text."""
    image, words, target = match.groups()
    if image:
        return f"(picture: {words})"
    if target.startswith("#"):
        return words
    if re.match(r"[a-z][a-z+.-]*:", target):
        return words if words.strip("`<>") == target else f"{words} ({target})"
    path, hash_mark, anchor = target.partition("#")
    if path.endswith(".py") and anchor.startswith("test_"):  # what `pytest -k` will find
        return words if in_table else f"{words} (`{posixpath.basename(path)}::{anchor}`)"
    path = posixpath.normpath(posixpath.join(folder, path)) + hash_mark + anchor
    return f"`{path}`" if path.endswith(words.strip("`")) else f"{words} (`{path}`)"


def _fold(text: str, answers: str | None) -> str:
    """Give each `<details>` its summary as a title, and leave out what answers a question."""
    kept: list[str] = []
    depth, asking = 0, False
    for chunk in chunks(text):
        if chunk.fence is not None:
            if not (asking and depth and answers is not None):
                kept += chunk.lines
            continue
        for line in chunk.text.split("\n"):
            if line.startswith("## "):
                asking = line.lower().startswith("## self-test")
            hide = asking and answers is not None
            opening, closing = line.count("<details"), line.count("</details>")
            summary = re.search(r"<summary>(.*?)</summary>", line)
            if summary and not (hide and depth + opening > 1):
                kept += ["", f"**{_plain(summary[1])}**", "", *([f"*{answers}*", ""] * hide)]
            elif not (summary or opening or closing or (hide and depth)):
                kept.append(line)
            depth = max(0, depth + opening - closing)
    return "\n".join(kept)


def _plain(html: str) -> str:
    """A summary without its tags; code keeps its marks."""
    html = re.sub(r"</?code>", "`", html)
    return re.sub(r"<[^>]+>", "", html).strip()
