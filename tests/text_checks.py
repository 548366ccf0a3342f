"""What the tests of the texts share: blocks and tables of a page, tests it names, its links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from labs.desk.sections import find_sections

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Page:
    """The README of a chapter."""

    path: Path
    text: str

    def block(self, name: str) -> str:
        """The fenced block that follows the remark `<!-- name -->`."""
        match = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", self.text, re.DOTALL)
        assert match, f"the page has no block named {name!r}"
        return match[1]

    def section(self, heading: str) -> str:
        """What stands under a heading, up to the next heading of any level."""
        parts = re.split(rf"^#+ {re.escape(heading)}$", self.text, flags=re.MULTILINE)
        assert len(parts) == 2, f"the page has {len(parts) - 1} headings {heading!r}, not one"
        return re.split(r"^#+ ", parts[1], maxsplit=1, flags=re.MULTILINE)[0]

    def rows(self, heading: str) -> list[list[str]]:
        """The cells of each row of the first table under a heading."""
        section = self.section(heading)
        table = re.search(r"^\|.*(?:\n\|.*)*", section, re.MULTILINE)
        assert table, f"there is no table under {heading!r}"
        lines = table[0].splitlines()[2:]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def page_of(chapter: int) -> Page:
    """The text of a chapter, or an empty page where there is none yet."""
    path = ROOT / "chapters" / f"ch{chapter:02}" / "README.md"
    return Page(path, path.read_text(encoding="utf-8") if path.is_file() else "")


def missing_tests(page: Page) -> list[str]:
    """The tests that the page links to, names in a box or gives as a proof, and that are not."""
    linked = re.findall(r"\]\((\S+?\.py)#(test_\w+)\)", page.text)
    boxed = [(file, name) for name, file in re.findall(r"\[`(test_\w+)`\]\((\S+?)\)", page.text)]
    proofs = re.findall(r"`([\w/]+\.py)::(test_\w+)`", page.text)
    assert linked
    assert boxed
    assert proofs
    missing = []
    for folder, names in ((page.path.parent, linked + boxed), (ROOT, proofs)):
        for file, name in names:
            path = (folder / file).resolve()
            if not path.is_file() or f"def {name}(" not in path.read_text(encoding="utf-8"):
                missing.append(f"{file}::{name}")
    return missing


def dead_links(page: Page) -> list[str]:
    """The relative links that lead to no file, or to no heading of a text."""
    dead = []
    for target in re.findall(r"\]\((?!https?:)(\S+?)\)", page.text):
        path, _, fragment = target.partition("#")
        file = page.path.parent / path if path else page.path
        if not file.exists():
            dead.append(target)
        elif fragment and file.suffix == ".md":
            sections = find_sections(file.read_text(encoding="utf-8"))
            if fragment not in [section.anchor for section in sections]:
                dead.append(target)
    return dead
