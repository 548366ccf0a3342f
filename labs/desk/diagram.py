"""A mermaid diagram in words: its description, if it has one, and its arrows."""

from __future__ import annotations

import re
from collections.abc import Sequence

MESSAGE = re.compile(
    r"^(?P<a>[\w ]+?)\s*-{1,2}(?:>>|>|\)|x)[+-]?\s*(?P<b>[\w ]+?)\s*:\s*(?P<text>.*)$"
)
SHAPE = (
    r"\(\[.*?\]\)|\[\[.*?\]\]|\[\(.*?\)\]|\(\(.*?\)\)|\[.*?\]|\(.*?\)|\{\{.*?\}\}|\{.*?\}|>.*?\]"
)
NODE = rf"(?P<node>[A-Za-z_]\w*)\s*(?P<shape>{SHAPE})?"
ARROW = r"\s*(?:<?[-=.]{2,}[>xo]?)\s*(?:\|(?P<label>[^|]*)\|\s*)?"
Edge = tuple[str, str, str]  # from a node, to a node, and the label as it is shown
LABELLED = re.compile(r"(--|==|-\.)\s+([^->|=][^->|]*?)\s+(-->|---|==>|\.->)")


def describe(mermaid: str) -> str:
    """A text block: title and description, then one line for each arrow."""
    lines = [line.strip() for line in mermaid.splitlines()]
    lines = [line for line in lines if line and not line.startswith("%%")]
    said = [
        line.partition(":")[2].strip() for line in lines if re.match(r"acc(Title|Descr)\s*:", line)
    ]
    names: dict[str, str] = {}
    arrows: list[str] = []
    edges: list[Edge] = []
    is_sequence = "sequenceDiagram" in lines  # elsewhere, `loop` is a name like any other
    for line in lines:
        if is_sequence:
            arrows += _message(line, names)
        else:
            edges += _edges(line, names)
    arrows += [f"{names[a]} → {names[b]}{label}" for a, b, label in from_the_start(edges)]
    if not said and not arrows:
        return "*(A diagram that this terminal cannot show.)*"
    drawn = "\n".join(arrows)
    block = f"```text\n{drawn}\n```" if arrows else ""
    heading = f"*Diagram: {' '.join(said)}*" if said else "*Diagram:*"
    return f"{heading}\n\n{block}".strip()


def from_the_start(edges: Sequence[Edge]) -> list[Edge]:
    """The edges as one walks them: all that leave the start, then all that leave the next node.

    A start is a node to which no arrow leads, or else the first one that is named.
    """
    nodes = list(dict.fromkeys(node for edge in edges for node in edge[:2]))
    reached = {b for a, b, _ in edges if a != b}
    waiting = [node for node in nodes if node not in reached]
    ordered: list[Edge] = []
    seen: set[str] = set()
    while len(seen) < len(nodes):
        node = waiting.pop(0) if waiting else next(each for each in nodes if each not in seen)
        if node in seen:
            continue
        seen.add(node)
        leaving = [edge for edge in edges if edge[0] == node]
        ordered += leaving
        waiting += [b for _, b, _ in leaving]
    return ordered


def _message(line: str, names: dict[str, str]) -> list[str]:
    """A line of a sequence diagram."""
    if person := re.match(r"(?:participant|actor)\s+(\w+)\s+as\s+(.+)$", line):
        names[person[1]] = _label(person[2])
        return []
    if note := re.match(r"[Nn]ote (?:over|left of|right of) [^:]+:\s*(.+)$", line):
        return [f"({_label(note[1])})"]
    if block := re.match(r"(loop|alt|else|opt|par|and)\b\s*(.*)$", line):
        return [f"[{block[1]} {_label(block[2])}]".replace(" ]", "]")]
    match = MESSAGE.match(line)
    if not match:
        return []
    a, b = (names.get(match[end].strip(), match[end].strip()) for end in ("a", "b"))
    return [f"{a} → {b}: {_label(match['text'])}"]


def _edges(line: str, names: dict[str, str]) -> list[Edge]:
    """A line of a flowchart: `A[text] -->|label| B --> C`, with `&` between several ends."""
    line = LABELLED.sub(lambda m: f"{m[3]}|{m[2]}|", line.rstrip(";"))
    position, ends = 0, _ends(line, 0, names)
    edges: list[Edge] = []
    while ends:
        found, position = ends
        arrow = re.compile(ARROW).match(line, position)
        if not arrow or not arrow.group().strip():
            break
        following = _ends(line, arrow.end(), names)
        if not following:
            break
        label = f"  ({_label(arrow['label'])})" if arrow["label"] else ""
        edges += [(a, b, label) for a in found for b in following[0]]
        ends = following
    return edges


def _ends(line: str, position: int, names: dict[str, str]) -> tuple[list[str], int] | None:
    """The nodes at `position`, joined by `&`, and the place behind them."""
    found: list[str] = []
    while match := re.compile(NODE).match(line, position):
        node, shape = match["node"], match["shape"]
        names[node] = _label(shape) if shape else names.get(node, node)
        found.append(node)
        position = match.end()
        joined = re.compile(r"\s*&\s*").match(line, position)
        if not joined:
            break
        position = joined.end()
    return (found, position) if found else None


def _label(text: str) -> str:
    """What is written in a node or on an arrow, without shape, quotes and line breaks."""
    text = re.sub(r"<br\s*/?>", " ", text.strip().strip("[](){}>").strip("/\\"))
    return re.sub(r"<[^>]+>", "", text).strip().strip('"').strip()
