"""Run tests in a pytest of their own, and bring back a verdict for each of them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from labs.desk.book import WORK_VARIABLE, Book, DeskError
from labs.desk.trouble import Kind, Trouble

TARGET_VARIABLE = "WORKBOOK_TARGET"
VERDICTS_VARIABLE = "WORKBOOK_VERDICTS"
LIMIT_VARIABLE = "WORKBOOK_TEST_SECONDS"
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
    if target != "solution":
        setting = (
            f'$env:{TARGET_VARIABLE}="{target}";' if windows else f"{TARGET_VARIABLE}={target}"
        )
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
    with tempfile.TemporaryDirectory(prefix="workbook-check-") as folder:
        lines = Path(folder) / "verdicts"
        stacks, output = Path(f"{lines}.stacks"), Path(folder) / "output"
        environment = {
            **os.environ,
            TARGET_VARIABLE: target,
            VERDICTS_VARIABLE: str(lines),
            LIMIT_VARIABLE: str(seconds),
            WORK_VARIABLE: str(book.work),
            "PYTHONIOENCODING": "utf-8",
        }
        command = [sys.executable, "-m", "pytest", *places, "-q", "-p", "labs.desk.verdicts"]
        # Hypothesis works without its plugin, which costs a second of start-up in every run.
        command += ["-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
        command += ["--continue-on-collection-errors", "--tb=line"]
        with output.open("wb") as sink:
            process = subprocess.Popen(
                command,
                cwd=book.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            hung = not _ended(process, stacks)
        said = output.read_text(encoding="utf-8", errors="replace").splitlines()
        entries = _read(lines)
        traces = stacks.read_text(encoding="utf-8", errors="replace") if stacks.exists() else ""
    return _grade(entries, hung, seconds, traces, book, process.returncode, said)


def _ended(process: subprocess.Popen[bytes], stacks: Path) -> bool:
    """Wait until the run has ended (True) or a test ran out of time (False; all of it is killed).

    The run writes its stacks when a test has taken too long; that is the sign to stop it.
    """
    give_up = time.monotonic() + LOADING_SECONDS
    try:
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=0.1)
                return True
            begun = stacks.exists()
            if stacks.stat().st_size if begun else time.monotonic() > give_up:
                return False
    finally:
        if process.poll() is None:
            from chapters.ch01.process_tree import kill_tree

            kill_tree(process.pid)
            process.wait()


def _grade(
    entries: Sequence[dict[str, Any]],
    hung: bool,
    seconds: float,
    traces: str,
    book: Book,
    code: int,
    said: Sequence[str],
) -> Grade:
    verdicts: dict[str, Verdict] = {}
    broken: list[str] = []
    begun: dict[str, Any] | None = None
    for entry in entries:
        match entry["event"]:
            case "begun":
                begun = entry
            case "ended":
                begun = None
                old = verdicts.get(entry["test"])
                if old is None or old.outcome == "passed":  # a failing teardown counts, too
                    verdicts[entry["test"]] = _verdict(entry)
            case "broken":
                broken += [f"{entry['test']}: {line}" for line in entry["message"]]
    if begun:
        message = (
            f"It did not come back within {seconds:g} seconds and was stopped."
            if hung
            else f"It ended the whole test run, with exit code {code}."
        )
        trouble = Trouble(Kind.HUNG, (message,), line=_line_in(traces, book.work))
        verdicts[begun["test"]] = Verdict(
            begun["test"], "failed", begun["promise"], begun["read"], trouble
        )
    elif not broken and (hung or code not in (0, 1)):
        broken += [f"pytest ended with code {code}.", *[line for line in said if line.strip()][-6:]]
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
