"""`workbook test`: the contract tests of a chapter, by pytest."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from labs.chapter_number import CHAPTER


@click.command(
    "test",
    short_help="Run the contract tests of a chapter.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("chapter", type=CHAPTER, metavar="N")
@click.argument("pytest_options", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, chapter: int, pytest_options: tuple[str, ...]) -> None:
    """Run the contract tests of chapter N with pytest. They need no key and no network.

    Everything after N goes to pytest as it is: `workbook test 2 -x -k escape`.

    The exit code is pytest's: 0 all passed, 1 some failed.
    """
    from labs.packages import ROOT

    if find_spec("pytest") is None:
        raise click.UsageError(
            "pytest is not installed in this Python. Install it from the workbook's folder: "
            "pip install -e '.[dev]'"
        )
    folder = ROOT / "chapters" / f"ch{chapter:02}"
    words = ["-m", "pytest", _as_typed(folder), *pytest_options]
    click.echo(f"Running: {_join([_python(), *words])}")
    ctx.exit(_run([sys.executable, *words]))


def _run(words: list[str]) -> int:
    process = subprocess.Popen(words)
    # Ctrl-C reaches pytest too, which sums up before it ends: wait for that.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return process.wait()
    finally:
        signal.signal(signal.SIGINT, before)


def _python() -> str:
    """`python`, if typing that starts this very Python, else the whole path."""
    found = shutil.which("python")
    same = found is not None and Path(found).absolute() == Path(sys.executable).absolute()
    return "python" if same else sys.executable


def _as_typed(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def _join(words: list[str]) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
