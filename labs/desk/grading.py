"""Run tests in a pytest of their own, and bring back a verdict for each of them."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from labs.desk.book import WORK_VARIABLE, Book, DeskError
from labs.desk.bounded_run import Outcome, cleaned_up_when_told_to_end, run_bounded
from labs.desk.limits import MEMORY_SENTENCE
from labs.desk.trouble import Kind, Trouble

TARGET_VARIABLE = "WORKBOOK_TARGET"
VERDICTS_VARIABLE = "WORKBOOK_VERDICTS"
LIMIT_VARIABLE = "WORKBOOK_TEST_SECONDS"
DESK_VARIABLE = "WORKBOOK_DESK"
SECONDS = 10.0  # one test may take; the reader's loop may have no end
LOADING_SECONDS = 60.0  # until the first test begins

Target = Literal["mine", "solution", "starter"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one test. `promise` and `read` are what its `contract` marker says."""

    test: str
    outcome: str
    promise: str = ""
    read: str = ""
    trouble: Trouble | None = None

    @property
    def sentence(self) -> str:
        """The promise, or what the name of the test says of it."""
        name = self.test.partition("::")[2].partition("[")[0].removeprefix("test_")
        return self.promise or name.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Grade:
    """What came of a run. `broken` is why tests could not even be collected; rarely your fault."""

    verdicts: tuple[Verdict, ...]
    broken: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Verdict, ...]:
        """The tests that failed, in order."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "failed")

    @property
    def passed(self) -> tuple[Verdict, ...]:
        """The tests that passed, in order."""
        return tuple(verdict for verdict in self.verdicts if verdict.outcome == "passed")

    @property
    def promises(self) -> dict[str, bool]:
        """Each promise in words, and whether all of its tests passed."""
        kept: dict[str, bool] = {}
        for verdict in self.verdicts:
            sentence, held = verdict.sentence, verdict.outcome != "failed"
            kept[sentence] = kept.get(sentence, True) and held
        return kept

    @property
    def good(self) -> bool:
        """True if there is something that passed and nothing that did not."""
        return bool(self.passed) and not self.failed and not self.broken


def spelled_out(book: Book, places: Sequence[str], target: Target) -> str:
    """The command a reader can type to get the same run without this desk."""
    command = f"pytest {' '.join(places)}"
    windows = os.name == "nt"
    settings: dict[str, str] = {} if target == "solution" else {TARGET_VARIABLE: target}
    if os.environ.get(WORK_VARIABLE, str(book.work)) not in ("", str(book.work)):
        settings[WORK_VARIABLE] = str(book.work)  # what is set is relative to another folder
    for name, value in settings.items():
        setting = f'$env:{name}="{value}";' if windows else f"{name}={shlex.quote(value)}"
        command = f"{setting} {command}"
    if Path.cwd() == book.root:
        return command
    return f"cd {book.root}{';' if windows else ' &&'} {command}"


def grade(book: Book, places: Sequence[str], target: Target, *, seconds: float = SECONDS) -> Grade:
    """Run the tests at `places` (paths and test ids, from the workbook's folder) on `target`.

    A test that takes longer than `seconds` is stopped, and the run with it.
    """
    if find_spec("pytest") is None:
        raise DeskError("The tests need pytest:\n  pip install -e '.[dev]'")
    with cleaned_up_when_told_to_end(), _place_to_write() as folder:
        lines = folder / "verdicts"
        stacks = Path(f"{lines}.stacks")
        environment = {
            **os.environ,
            TARGET_VARIABLE: target,
            VERDICTS_VARIABLE: str(lines),
            LIMIT_VARIABLE: str(seconds),
            DESK_VARIABLE: str(os.getpid()),
            WORK_VARIABLE: str(book.work),
            "PYTHONIOENCODING": "utf-8:backslashreplace",
        }
        command = [sys.executable, "-m", "pytest", *places, "-q", "-p", "labs.desk.verdicts"]
        # Hypothesis works without its plugin, which costs a second of start-up in every run.
        command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
        # What pytest catches of the reader's prints it keeps in memory, several times over.
        command += ["--continue-on-collection-errors", "--tb=line", "--capture=no"]
        give_up = time.monotonic() + LOADING_SECONDS

        def overdue() -> bool:
            """The run writes its stacks when a test has taken too long."""
            return stacks.stat().st_size > 0 if stacks.exists() else time.monotonic() > give_up

        outcome = run_bounded(command, folder=book.root, environment=environment, overdue=overdue)
        entries = _read(lines)
        traces = stacks.read_text(encoding="utf-8", errors="replace") if stacks.exists() else ""
    return _grade(entries, outcome, seconds, traces, book)


@contextmanager
def _place_to_write() -> Iterator[Path]:
    """A folder for what the run reports; it is gone afterwards."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="workbook-check-", ignore_cleanup_errors=True)
    except OSError as error:
        raise DeskError(
            f"The tests need a folder for temporary files: {error.strerror}.\n"
            "Make room there, or name another one in the variable TMPDIR (Windows: TEMP)."
        ) from None
    with folder as name:
        yield Path(name)


def _grade(
    entries: Sequence[dict[str, Any]], outcome: Outcome, seconds: float, traces: str, book: Book
) -> Grade:
    verdicts: dict[str, Verdict] = {}
    broken: list[str] = []
    begun: dict[str, Any] | None = None
    line, out_of_memory = _line_in(traces, book.work), "MemoryError" in outcome.said
    for entry in entries:
        match entry["event"]:
            case "begun":
                begun = entry
            case "ended":
                begun = None
                old = verdicts.get(entry["test"])
                if old is None or old.outcome == "passed":  # a failing teardown counts, too
                    verdicts[entry["test"]] = _verdict(entry)
            case "memory":
                line, out_of_memory = entry["line"], True
            case "broken":
                broken += [f"{entry['test']}: {line}" for line in entry["message"]]
    if begun:
        if outcome.stopped or traces:
            message = f"It did not come back within {seconds:g} seconds and was stopped."
        elif out_of_memory:
            message = MEMORY_SENTENCE
        else:
            message = f"It ended the whole test run, with exit code {outcome.code}."
        trouble = Trouble(Kind.HUNG, (message,), line=line)
        verdicts[begun["test"]] = Verdict(
            begun["test"], "failed", begun["promise"], begun["read"], trouble
        )
    elif not broken and (outcome.stopped or outcome.code not in (0, 1)):
        said = [line for line in outcome.said.splitlines() if line.strip()]
        broken += [f"pytest ended with code {outcome.code}.", *said[-6:]]
    return Grade(tuple(verdicts.values()), tuple(broken))


def _verdict(entry: dict[str, Any]) -> Verdict:
    trouble = entry["trouble"]
    if trouble is not None:
        trouble = Trouble(
            Kind(trouble["kind"]),
            tuple(trouble["message"]),
            tuple(trouble["excerpt"]),
            trouble["line"],
            trouble["at"],
        )
    return Verdict(entry["test"], entry["outcome"], entry["promise"], entry["read"], trouble)


def _line_in(traces: str, work: Path) -> int:
    """The innermost line of a file of the reader in what faulthandler wrote; newest call first."""
    match = re.search(rf'File "{re.escape(str(work))}[^"]*", line (\d+)', traces)
    return int(match.group(1)) if match else 0


def _read(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(json.JSONDecodeError):  # the last one, if the run was stopped
                entries.append(json.loads(line))
    return entries
