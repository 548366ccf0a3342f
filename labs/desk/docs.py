"""Keeping text and code together: what the text shows is cut from the source or run, by cogapp.

In a Markdown file, between a marker and `<!-- [[[end]]] -->`:

    <!-- [[[cog region("chapters/ch01/loop.py", "turns") ]]] -->
    <!-- [[[cog console("workbook list") ]]] -->
    <!-- [[[cog console("workbook exercise 1/echo_model", "workbook check", code=1) ]]] -->
    <!-- [[[cog chapter_map() ]]] -->
    <!-- [[[cog wire_decisions() ]]] -->
    <!-- [[[cog stream_decisions() ]]] -->
    <!-- [[[cog argument_decisions() ]]] -->
"""

from __future__ import annotations

import difflib
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from labs.desk.book import Book, DeskError
from labs.desk.chunks import chunks
from labs.desk.decision_table import decision_table
from labs.desk.excerpt import cut_region, fenced
from labs.desk.transcript import run_commands

DECISIONS = "tests/vectors/decisions.toml"
STREAM_DECISIONS = "tests/vectors/decisions_streams.toml"
ARGUMENT_DECISIONS = "tests/vectors/decisions_arguments.toml"


@dataclass(frozen=True, slots=True)
class Page:
    """A Markdown file, as it is and as it should be."""

    path: str
    old: str
    new: str

    @property
    def drifted(self) -> bool:
        """True if the text no longer shows what the code is."""
        return self.old != self.new

    @property
    def diff(self) -> str:
        """What would change."""
        return "".join(
            difflib.unified_diff(
                self.old.splitlines(keepends=True),
                self.new.splitlines(keepends=True),
                f"{self.path} (as it is)",
                f"{self.path} (as it should be)",
            )
        )


def texts(book: Book) -> list[Path]:
    """Every Markdown file a reader reads: the README of the workbook, chapters, exercises."""
    return [
        path
        for path in (
            book.root / "README.md",
            *sorted(book.chapters.glob("ch*/*.md")),
            *sorted(book.chapters.glob("ch*/exercises/*/*.md")),
        )
        if path.is_file()
    ]


def generate(book: Book, path: Path) -> Page:
    """The file with every generated part made anew. Raises DeskError, naming file and line."""
    try:
        from cogapp.cogapp import Cog, CogError  # type: ignore[import-untyped]
    except ImportError:
        raise DeskError("This needs cogapp:\n  pip install -e '.[dev]'") from None
    shown = book.show(path)
    old = path.read_text(encoding="utf-8")
    cog, out = Cog(), io.StringIO()

    def writing(make: Callable[..., str]) -> Callable[..., None]:
        def write(*args: str, **options: object) -> None:
            try:
                cog.cogmodule.outl(make(*args, **options))
            except DeskError as error:
                raise CogError(str(error), shown, cog.cogmodule.firstLineNum) from None

        return write

    makers: dict[str, Callable[..., str]] = {
        "region": lambda file, name: cut_region(book.root, file, name),
        "console": lambda *commands, **options: console(book, *commands, **options),
        "chapter_map": chapter_map,
        "wire_decisions": lambda: decision_table(book.root / DECISIONS),
        "stream_decisions": lambda: decision_table(book.root / STREAM_DECISIONS),
        "argument_decisions": lambda: decision_table(book.root / ARGUMENT_DECISIONS),
        "exercise_map": lambda chapter: exercise_map(book, int(chapter)),
    }
    try:
        cog.process_file(
            io.StringIO(old), out, shown, {name: writing(make) for name, make in makers.items()}
        )
    except CogError as error:
        raise DeskError(str(error)) from None
    except SyntaxError as error:
        raise DeskError(f"{shown}({cog.cogmodule.firstLineNum}): {error.msg}") from None
    return Page(shown, old, out.getvalue())


def refresh(book: Book, *, write: bool) -> Iterator[Page]:
    """Every text, generated anew, and written back if it drifted and `write` says so."""
    for path in texts(book):
        page = generate(book, path)
        if page.drifted and write:
            path.write_text(page.new, encoding="utf-8", newline="\n")
        yield page


def console(
    book: Book,
    *commands: str,
    code: int = 0,
    says: str | None = None,
    first: int = 0,
    last: int = 0,
) -> str:
    """A console block: the commands and their output, or the `first` or `last` lines of it."""
    output = run_commands(book.root, commands, code=code, says=says)
    lines = output.splitlines()
    if first and len(lines) > first:
        output = "\n".join([*lines[:first], "…"])
    if last and len(lines) > last + 1:
        output = "\n".join([lines[0], "…", *lines[-last:]])
    return fenced(output, "console")


def chapter_map() -> str:
    """A table of the chapters: what each adds, and its tools."""
    from labs.catalog import chapter_numbers, profile_of

    rows = ["| Chapter | Adds | New tools |", "| --- | --- | --- |"]
    before: tuple[str, ...] = ()
    for number in chapter_numbers():
        profile = profile_of(number)
        new = ", ".join(f"`{tool}`" for tool in profile.tools if tool not in before)
        adds = ", ".join(name.replace("_", " ") for name in profile.adds)
        link = f"[{number}. {profile.title}](chapters/ch{number:02}/README.md)"
        rows.append(f"| {link} | {adds} | {new} |")
        before = profile.tools
    return "\n".join(rows)


def exercise_map(book: Book, chapter: int) -> str:
    """A list of the exercises of a chapter, for its README."""
    from labs.desk.exercises import all_exercises

    return "\n".join(
        f"- [{exercise.title}](exercises/{exercise.name}/README.md): "
        f"`workbook exercise {exercise.id}`"
        for exercise in all_exercises(book)
        if exercise.chapter == chapter
    )


def pasted_transcripts(markdown: str) -> list[int]:
    """The lines of console blocks that nobody runs: not made by cog, so they go stale unseen."""
    pasted: list[int] = []
    generated, line = False, 1
    for chunk in chunks(markdown):
        if chunk.fence is None:
            marks = re.findall(r"\[\[\[(cog|end)", chunk.text)
            generated = marks[-1] == "cog" if marks else generated
        elif re.match(r"\s*(console|shell-session|pycon)\b", chunk.fence) and not generated:
            pasted.append(line)
        line += len(chunk.lines)
    return pasted
