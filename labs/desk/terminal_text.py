"""From Markdown as GitHub shows it to Markdown as a terminal can show it."""

from __future__ import annotations

import posixpath
import re
from functools import partial

from labs.desk.chunks import chunks
from labs.desk.diagram import describe
from labs.desk.proof_links import with_numbered_proofs, without_proofs

ALERT = re.compile(r"^(\s*>\s*)\[!(\w+)\]\s*$")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+(?:\([^()]*\)[^()\s]*)?)\)")


def for_terminal(markdown: str, *, folder: str, answers: str | None, proofs: bool = False) -> str:
    """The text of a README in `folder` (from the workbook's root), ready for a terminal.

    Comments are left out, alerts get a title, diagrams become arrows, links become paths from the
    root. The answers of the self-test are left out, and `answers` says once how to get them, unless
    it is None; what is folded elsewhere is an aside, and is shown. With `proofs`, a sentence that a
    test proves gets a number, and the end of its section names the test.
    """
    text = _fold(_without_comments(markdown), answers)
    text = with_numbered_proofs(text) if proofs else without_proofs(text)
    pieces: list[str] = []
    for chunk in chunks(text):
        if chunk.fence is None:
            pieces.append(_prose(chunk.text, folder))
        elif chunk.fence.strip() == "mermaid":
            indent = chunk.lines[0][: len(chunk.lines[0]) - len(chunk.lines[0].lstrip())]
            drawn = describe("\n".join(chunk.lines[1:-1]))
            pieces.append("\n".join(indent + line for line in drawn.splitlines()))
        else:
            pieces.append(chunk.text)
    return _single_blanks("\n".join(pieces)).strip() + "\n"


def _single_blanks(text: str) -> str:
    """The text with one blank line wherever prose has several; in code, two may mean something."""
    kept: list[str] = []
    for chunk in chunks(text):
        before = "text"
        for line in chunk.lines:
            if chunk.fence is not None or line.strip() or before.strip():
                kept.append(line)
            before = line
    return "\n".join(kept)


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
    return "".join(LINK.sub(partial(_link, folder=folder), part) for part in parts)


def _alert(line: str) -> str:
    match = ALERT.match(line)
    if not match:
        return line
    return f"{match[1]}**{match[2].capitalize()}**\n{match[1].rstrip()}"


def _link(match: re.Match[str], *, folder: str) -> str:
    """A path from the root, an address as it is, nothing for a place in the same text."""
    image, words, target = match.groups()
    if image:
        return f"(picture: {words})"
    if target.startswith("#"):
        return words
    if re.match(r"[a-z][a-z+.-]*:", target):
        return words if words.strip("`<>") == target else f"{words} ({target})"
    path, hash_mark, anchor = target.partition("#")
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
                if asking and answers is not None:
                    kept += [line, "", f"*{answers}*", ""]
                    continue
            hide = asking and answers is not None
            opening, closing = line.count("<details"), line.count("</details>")
            summary = re.search(r"<summary>(.*?)</summary>", line)
            if summary and not (hide and depth + opening > 1):
                kept += ["", f"**{_plain(summary[1])}**", ""]
            elif not (summary or opening or closing or (hide and depth)):
                kept.append(line)
            depth = max(0, depth + opening - closing)
    return "\n".join(kept)


def _plain(html: str) -> str:
    """A summary without its tags; code keeps its marks."""
    html = re.sub(r"</?code>", "`", html)
    return re.sub(r"<[^>]+>", "", html).strip()
