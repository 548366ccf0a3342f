"""What the tests of the chapters may use, and what a failing one tells its reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
TARGETS = ("solution", "starter", "mine")


@pytest.fixture
def anyio_backend() -> str:
    """Tests marked `anyio` run on asyncio."""
    return "asyncio"


@pytest.fixture
def target(request: pytest.FixtureRequest) -> Iterator[ModuleType]:
    """The code an exercise's tests are about: the reference solution, or yours.

    WORKBOOK_TARGET chooses: `solution` (the default, so that an exercise you have half finished
    turns nothing red), `mine` (your file under work/) or `starter`.
    """
    path = target_path(request.path)
    name = f"workbook_exercise_{path.stem}"
    module = ModuleType(name)
    module.__file__ = str(path)
    # Looked up there by dataclasses and by everything that resolves annotations.
    sys.modules[name] = module
    try:
        load(module, path)
        yield module
    finally:
        del sys.modules[name]


def target_path(tests: Path) -> Path:
    """The file the tests in `tests` are about."""
    kind = os.environ.get("WORKBOOK_TARGET", "solution")
    if kind not in TARGETS:
        pytest.fail(f"WORKBOOK_TARGET={kind!r}: must be one of {', '.join(TARGETS)}", pytrace=False)
    folder = tests.parent
    if kind != "mine":
        path = folder / f"{kind}.py"
        if not path.is_file():
            pytest.fail(f"there is no {path.name}: workbook dev starters", pytrace=False)
        return path
    work = Path(os.environ.get("WORKBOOK_WORK") or ROOT / "work")
    path = work / folder.parents[1].name / f"{folder.name}.py"
    if not path.is_file():
        pytest.fail(f"not started: workbook exercise {exercise_id(folder)}", pytrace=False)
    return path


def load(module: ModuleType, path: Path) -> None:
    """Run the file as `module`. Nothing is cached: what counts is what was saved a moment ago."""
    try:
        exec(compile(path.read_bytes(), path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        message = f"{path.name} cannot be loaded: {type(error).__name__}: {error}"
        pytest.fail(message, pytrace=False)


def exercise_id(folder: Path) -> str:
    """What the exercise in this folder is called: `02/append_file`."""
    return f"{folder.parents[1].name.removeprefix('ch')}/{folder.name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Put the promise a failing test stands for, and where to read about it, under its failure."""
    report = yield
    marker = item.get_closest_marker("contract")
    if report.failed and marker:
        lines = [f"Promise: {marker.args[0]}"]
        if read := marker.kwargs.get("read"):
            lines.append(f"Read:    {read}")
        if item.path.parents[1].name == "exercises":
            lines.append(f"Hint:    workbook hint {exercise_id(item.path.parent)}")
        report.sections.append(("workbook", "\n".join(lines)))
    return report
