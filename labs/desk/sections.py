"""The sections of a chapter's text: their headings, and the anchors that GitHub gives them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from labs.desk.book import Book, DeskError


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and where it stands. `line` counts from 1."""

    anchor: str
    title: str
    level: int
    line: int


def find_sections(text: str) -> list[Section]:
    """The headings of a Markdown text, in order, with the anchors GitHub makes of them."""
    taken: dict[str, int] = {}
    sections: list[Section] = []
    for number, line in lines_of_prose(text):
        match = re.match(r"(#{1,6})\s+(.+?)\s*#*$", line)
        if not match:
            continue
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[2])
        title = re.sub(r"[`*]", "", title)
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        count = taken.get(slug, 0)
        taken[slug] = count + 1
        sections.append(Section(f"{slug}-{count}" if count else slug, title, len(match[1]), number))
    return sections


def lines_of_prose(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines of a Markdown text that do not stand in a fenced block."""
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def cut_section(text: str, wanted: str) -> str:
    """The part of a text under one heading, named by its anchor or the beginning of its title."""
    sections = find_sections(text)
    anchor = wanted.removeprefix("#").lower()
    for index, section in enumerate(sections):
        if anchor == section.anchor or section.title.lower().startswith(anchor):
            following = [s.line for s in sections[index + 1 :] if s.level <= section.level]
            lines = text.splitlines()
            end = following[0] - 1 if following else len(lines)
            return "\n".join(lines[section.line - 1 : end]) + "\n"
    anchors = "\n  ".join(section.anchor for section in sections)
    raise DeskError(f"There is no section {wanted!r}. The sections are:\n  {anchors}")


def locate(book: Book, reference: str) -> tuple[str, int, str]:
    """Path, line and title of `chapters/ch02/README.md#anchor`. Raises DeskError for a dead one."""
    path, _, anchor = reference.partition("#")
    file = book.root / path
    if not file.is_file():
        raise DeskError(f"there is no {path}")
    if not anchor:
        return path, 1, ""
    for section in find_sections(file.read_text(encoding="utf-8")):
        if section.anchor == anchor:
            return path, section.line, section.title
    raise DeskError(f"{path} has no section #{anchor}")
