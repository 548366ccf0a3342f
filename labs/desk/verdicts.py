"""A pytest plugin that writes down, for each test, what `workbook check` will say about it.

Loaded with `-p labs.desk.verdicts` into a pytest of its own; WORKBOOK_VERDICTS names the file, one
JSON object a line. A line is written when a test begins, too: of a run that had to be stopped, that
tells which test did not come back.
"""

from __future__ import annotations

import faulthandler
import json
import logging
import os
from collections.abc import Generator
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

import pytest

from labs.desk.book import Book
from labs.desk.exercises import Exercise
from labs.desk.grading import (
    DESK_VARIABLE,
    LIMIT_VARIABLE,
    SECONDS,
    TARGET_VARIABLE,
    VERDICTS_VARIABLE,
)
from labs.desk.limits import GRACE, end_with, ended_by_alarm, limit_memory
from labs.desk.trouble import Trouble, explain, related


class Caught(logging.Handler):
    """Keeps the exceptions that were logged: a dispatcher turns a crash into a result and a log."""

    def __init__(self) -> None:
        super().__init__()
        self.exceptions: list[BaseException] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the exception of a record, if it has one."""
        if record.exc_info and record.exc_info[1] is not None:
            self.exceptions.append(record.exc_info[1])


class VerdictWriter:
    """Writes a line when a test begins and a line when it has its outcome."""

    def __init__(self, lines: TextIO, stacks: TextIO, seconds: float) -> None:
        self._lines = lines
        self._stacks = stacks
        self._seconds = seconds
        self._caught = Caught()

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be loaded is the workbook's fault, not the reader's."""
        if report.failed:
            last = str(report.longrepr).strip().splitlines()[-1:]
            self._write(event="broken", test=report.nodeid, message=last)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """The clock of a test runs: if it runs out, the stacks of all threads are written."""
        self._caught.exceptions.clear()
        logging.getLogger().addHandler(self._caught)
        self._write(event="begun", test=item.nodeid, **_contract(item))
        faulthandler.dump_traceback_later(self._seconds, file=self._stacks)
        try:
            with ended_by_alarm(self._seconds + GRACE):
                return (yield)
        finally:
            faulthandler.cancel_dump_traceback_later()
            logging.getLogger().removeHandler(self._caught)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """One line for a test that passed or was skipped, or for the first thing that failed."""
        if call.excinfo is not None:
            for error in (*related(call.excinfo.value), *self._caught.exceptions):
                if isinstance(error, MemoryError):
                    self._end_out_of_memory(item, error)
        report = yield
        if report.when == "call" or not report.passed:
            trouble = None
            if call.excinfo is not None and report.failed:
                trouble = self._trouble(item, call.excinfo.value)
            self._write(
                event="ended",
                test=item.nodeid,
                outcome=report.outcome,
                trouble=asdict(trouble) if trouble else None,
                **_contract(item),
            )
        return report

    def _end_out_of_memory(self, item: pytest.Item, error: MemoryError) -> None:
        """Say so and end: what took the memory may hang on the exception, so no test can go on."""
        own_file, line = str(_file_under_test(item)), 0
        place = error.__traceback__
        while place is not None:  # it may have come through a million frames: they are not copied
            if place.tb_frame.f_code.co_filename == own_file:
                line = place.tb_lineno
            place = place.tb_next
        self._write(event="memory", line=line)
        os._exit(1)

    def _trouble(self, item: pytest.Item, error: BaseException) -> Trouble:
        return explain(
            error,
            own_file=_file_under_test(item),
            tests=item.path,
            logged=self._caught.exceptions,
            parameters=getattr(getattr(item, "callspec", None), "params", None),
        )

    def _write(self, **values: Any) -> None:
        print(json.dumps(values), file=self._lines, flush=True)


def _contract(item: pytest.Item) -> dict[str, str]:
    marker = item.get_closest_marker("contract")
    if marker is None:
        return {"promise": "", "read": ""}
    return {"promise": marker.args[0], "read": marker.kwargs.get("read", "")}


def _file_under_test(item: pytest.Item) -> Path:
    folder = item.path.parent
    kind = os.environ.get(TARGET_VARIABLE, "solution")
    chapter = folder.parents[1].name.removeprefix("ch")
    if kind == "mine" and chapter.isdigit():
        return Exercise(int(chapter), folder.name, folder).own_file(Book.at(item.config.rootpath))
    return folder / f"{kind}.py"


def pytest_configure(config: pytest.Config) -> None:
    """Begin to write, if somebody said where to."""
    path = os.environ.get(VERDICTS_VARIABLE)
    if path is None:
        return
    lines = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 (open as long as pytest runs)
    stacks = Path(f"{path}.stacks").open("w", encoding="utf-8")  # noqa: SIM115
    seconds = float(os.environ.get(LIMIT_VARIABLE, SECONDS))
    limit_memory()
    if desk := os.environ.get(DESK_VARIABLE):
        end_with(int(desk))
    config.pluginmanager.register(VerdictWriter(lines, stacks, seconds), "workbook-verdicts")
