"""Laying out a chapter: everything a chapter has, small, in its place, and green at once."""

from __future__ import annotations

import builtins
import importlib
import keyword
import re
from collections.abc import Iterator
from pathlib import Path

from labs.catalog import chapter_numbers, profile_of
from labs.desk.book import Book, DeskError
from labs.desk.docs import refresh
from labs.desk.exercise_files import write_starters

SKELETON = Path(__file__).with_name("skeleton")
LAYERS = re.compile(r'^(?P<before>layers = \[)(?P<first>"ch\d\d")', re.MULTILINE)
MARKUP = re.compile(r"^ | $|\[\[\[|\]\]\]|<!--|-->|@|\|")  # to cog, to Markdown and to the skeleton
TAKEN = re.compile(r"tests|exercises|plan|kit|conftest|ch\d+")  # the skeleton's own names
SMALL_WORDS = {"a", "an", "the", "and", "of", "in", "to", "on", "for", "with", "that", "or"}


def lay_out(book: Book, number: int, title: str) -> Iterator[str]:
    """Make chapter `number` and say, line by line, what was made and what comes next.

    Raises DeskError, having written nothing, if it is not the next chapter or the title has no use.
    """
    last = max(chapter_numbers(book.root))
    if number != last + 1:
        raise DeskError(f"The next chapter is {last + 1}: numbers are promises, none is left out.")
    if not 3 <= len(title) <= 60 or not title.isprintable() or '"' in title or "\\" in title:
        raise DeskError("A title has 3 to 60 characters, and no double quotes or backslashes.")
    if markup := MARKUP.search(title):
        raise DeskError(f"A title is plain words in one line: take out {markup[0]!r}.")
    name = slug(title)
    names = {
        "@NN@": f"{number:02}",
        "@N@": str(number),
        "@N-1@": str(last),
        "@BEFORE@": f"ch{last:02}",
        "@SLUG@": name,
        "@TITLE@": title,
        "@LOWER@": title[0].lower() + title[1:],
    }
    _refuse_what_exists(book, name, last)
    templates = {template: _place(book, template, names) for template in SKELETON.rglob("*.txt")}
    for path in templates.values():
        if path.exists():
            raise DeskError(f"{book.show(path)} is there already: move it away, or finish it.")
    for template, path in sorted(templates.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        text = _filled(template.read_text(encoding="utf-8"), names)
        path.write_text(text, encoding="utf-8", newline="\n")
        yield f"wrote      {book.show(path)}"
    for path in write_starters(book):
        yield f"wrote      {book.show(path)}"
    yield _add_to_contract(book, number)
    importlib.invalidate_caches()
    for page in refresh(book, write=True):
        if page.drifted:
            yield f"refreshed  {page.path}"
    yield f"Next       workbook test {number}"


def slug(title: str) -> str:
    """A name for modules made of the first words of a title that say something."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    telling = [word for word in words if word not in SMALL_WORDS]
    name = "_".join(telling[:3])[:24].rstrip("_")
    if not name.isidentifier() or keyword.iskeyword(name) or TAKEN.fullmatch(name):
        raise DeskError(f"No module can be called {name!r}. Begin the title with another word.")
    return name


def _refuse_what_exists(book: Book, name: str, last: int) -> None:
    """A module, and the tool in it, are called what nothing else is called."""
    profile = profile_of(last)
    modules = {path.stem for path in book.chapters.glob("ch*/*.py")}
    taken = {*modules, *profile.tools, *profile.capabilities}
    if name in taken or hasattr(builtins, name):
        raise DeskError(f"There is a {name!r} already. Begin the title with another word.")


def _place(book: Book, template: Path, names: dict[str, str]) -> Path:
    path = book.root / _filled(template.relative_to(SKELETON).as_posix(), names)
    return path.with_name(path.name.removesuffix(".txt"))


def _filled(text: str, names: dict[str, str]) -> str:
    for token, value in names.items():
        text = text.replace(token, value)
    return text


def _add_to_contract(book: Book, number: int) -> str:
    """Put the chapter above the earlier ones in the import contract of pyproject.toml."""
    path = book.root / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    new, count = LAYERS.subn(rf'\g<before>"ch{number:02}", \g<first>', text, count=1)
    if count:
        path.write_text(new, encoding="utf-8", newline="\n")
        return "changed    pyproject.toml: the chapter is in the import contract"
    return f'to do      put "ch{number:02}" first in the layers of the import contract'
