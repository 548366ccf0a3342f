"""From an exception in a test to the few lines a reader needs: what broke, on what input, where."""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from textwrap import dedent
from types import ModuleType

from labs.desk.starter import NOT_WRITTEN

LINES = 12  # of a test and of what its assertion says, together
MESSAGE_LINES = 8
COMPARISON_LINES = 3  # of what was compared, if the test has words of its own to say
WIDTH = 96  # characters of one shown line
SENTENCE = (
    4 * WIDTH
)  # of a line that a test has written for a person; it is folded where it is shown
NOISE = re.compile(
    r"[Uu]se '?-v|Full diff:|^\s*\?"  # advice to users of pytest, marks under a diff
    r"|^\s*\+\s+(where|and) +<(function|bound method|built-in method|module|class)"
)


class Kind(StrEnum):
    """The sorts of trouble, told apart because each asks for another next step."""

    LOAD = "load"  # the reader's file is not Python, or cannot be imported
    NOT_WRITTEN = "not written"  # a TODO is still there
    PROMISE = "promise"  # the code ran and did something else than promised
    CRASH = "crash"  # the code raised
    HUNG = "hung"  # the code did not come back
    OTHER = "other"  # the test itself says what is wrong


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a reader needs of a failure.

    `line` is in the reader's file and `at` in the test; 0 if none is known.
    """

    kind: Kind
    message: tuple[str, ...]
    excerpt: tuple[str, ...] = ()
    line: int = 0
    at: int = 0


def explain(
    error: BaseException,
    *,
    own_file: Path,
    tests: Path,
    logged: Iterable[BaseException] = (),
    parameters: Mapping[str, object] | None = None,
) -> Trouble:
    """What went wrong. `logged` are exceptions that something between code and test swallowed."""
    failed = type(error).__name__ == "Failed"  # pytest.fail: the text is written for a person
    if failed and error.__context__ is not None and "cannot be loaded" in str(error):
        return cannot_load(error.__context__, own_file)
    known = [*related(error), *(inner for outer in logged for inner in related(outer))]
    for other in known:
        if isinstance(other, NotImplementedError) and str(other) == NOT_WRITTEN:
            return Trouble(Kind.NOT_WRITTEN, (), line=line_in(other, own_file))

    crash = next((other for other in known if line_in(other, own_file)), None)
    if crash is not None and not isinstance(crash, AssertionError):
        message = [f"{type(crash).__name__}: {line}" for line in str(crash).splitlines()[:1]]
        message = message or [type(crash).__name__]
        if crash not in related(error):
            message.append("It was caught on the way, so the test saw something else:")
            message += said(error)[:2]
        kind, line = Kind.CRASH, line_in(crash, own_file)
    else:
        message = said(error)
        kind, line = (Kind.OTHER if failed else Kind.PROMISE), 0
        if missing := name_missing(error):
            message = [f"Your file has no `{missing}`."]
        elif not failed and not isinstance(error, AssertionError):
            message[0] = f"{type(error).__name__}: {message[0]}"
    width = SENTENCE if failed else WIDTH
    shown = [shorten(line, width) for line in message[:MESSAGE_LINES]]
    given = [shorten(f"with {name} = {value!r}") for name, value in (parameters or {}).items()]
    rest = LINES - len(shown) - len(given)
    at = line_in(error, tests, outermost=failed)  # inside is a helper that says what went wrong
    return Trouble(kind, tuple(shown), (*given, *excerpt_of(tests, at, rest)), line, at)


def cannot_load(error: BaseException, own_file: Path) -> Trouble:
    """What keeps the reader's file from being loaded: the line and the reason."""
    if isinstance(error, SyntaxError) and error.filename == str(own_file):
        code = (error.text or "").strip()
        return Trouble(
            Kind.LOAD,
            (f"{type(error).__name__}: {error.msg}",),
            (f"> {code}",) if code else (),
            error.lineno or 0,
        )
    line = line_in(error, own_file)
    code = source_line(own_file, line)
    message = f"{type(error).__name__}: {error}"
    return Trouble(Kind.LOAD, (shorten(message),), (f"> {code}",) if code else (), line)


def related(error: BaseException | None) -> Iterator[BaseException]:
    """The exception, what caused it, and what a group of them holds."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        other = waiting.pop(0)
        if other is None or id(other) in seen:
            continue
        seen.add(id(other))
        yield other
        if isinstance(other, BaseExceptionGroup):
            waiting += other.exceptions
        waiting += [other.__cause__, other.__context__]


def line_in(error: BaseException, path: Path, *, outermost: bool = False) -> int:
    """The innermost line of `path` the exception came through, or the outermost; 0 if none."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return (lines[0 if outermost else -1] or 0) if lines else 0


def name_missing(error: BaseException) -> str:
    """The name a test looked for in the reader's file and did not find; empty if it is not that."""
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        ours = error.obj.__name__.startswith("workbook_exercise_")
        return error.name or "" if ours else ""
    return ""


def said(error: BaseException) -> list[str]:
    """What an exception says, without the advice and the addresses nobody can use here."""
    text = "\n".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    lines = [readable(line) for line in lines if not re.search(NOISE, line)]
    # pytest puts the words of the test before what was compared, and they may be a transcript.
    compared = [number for number, line in enumerate(lines) if line.startswith("assert ")]
    if compared:
        own_words, comparison = lines[: compared[-1]], lines[compared[-1] :]
        if "..." in comparison[0] and len(comparison) > 1:  # the next lines say what differs
            comparison = comparison[1:]
        lines = [*comparison[: COMPARISON_LINES if own_words else None], *own_words]
    return [line.removeprefix("assert ") for line in lines]


def readable(line: str) -> str:
    """A line without addresses in memory; functions and classes by their names."""
    line = re.sub(r"<(?:function|class) '?([\w.<>]+)'?(?: at 0x\w+)?>", r"\1", line)
    return re.sub(r" at 0x[0-9a-f]+", "", line)


def excerpt_of(path: Path, line: int, limit: int) -> list[str]:
    """The test down to the statement at `line`, which is marked; the beginning may be left out."""
    if not line or limit < 1:
        return []
    source = path.read_text(encoding="utf-8")
    first, begin, end = _extent(ast.parse(source), line)
    code = dedent("\n".join(source.splitlines()[first - 1 : end])).splitlines()
    marked = [
        f"{'>' if number >= begin else ' '} {text}".rstrip()
        for number, text in enumerate(code, start=first)
        if text.strip()
    ]
    if len(marked) > limit:
        marked = ["  …", *marked[-limit + 1 :]] if limit > 1 else marked[-1:]
    return [shorten(text) for text in marked]


def _extent(tree: ast.Module, line: int) -> tuple[int, int, int]:
    """First line of the function's body; first and last line of the statement at `line`."""
    first, begin, end = line, line, line
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt) or not node.lineno <= line <= (node.end_lineno or 0):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body
            if ast.get_docstring(node, clean=False) is not None and len(body) > 1:
                body = body[1:]
            first = body[0].lineno
        elif not isinstance(node, ast.ClassDef):
            begin, end = node.lineno, node.end_lineno or line
            if hasattr(node, "body"):  # `with` and `for`: the statement inside is found later
                end = line
    return min(first, begin), begin, end


def source_line(path: Path, line: int) -> str:
    """One line of a file, without its indentation; empty if there is none."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if line else []
    return lines[line - 1].strip() if line <= len(lines) and lines else ""


def shorten(text: str, width: int = WIDTH) -> str:
    """`text`, or as much of it as fits into one line."""
    return text if len(text) <= width else text[: width - 1] + "…"
