"""A foreign `shared` in the way is said in a sentence, not in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from labs.packages import explain, foreign_packages
from tests.command_line import ROOT, environment


def test_here_everything_is_ours() -> None:
    assert foreign_packages() == {}


@pytest.fixture
def foreign(tmp_path: Path) -> dict[str, str]:
    """An environment in which another project's `shared` is found before ours."""
    (tmp_path / "site" / "shared").mkdir(parents=True)
    (tmp_path / "site" / "shared" / "__init__.py").touch()
    return {"PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{ROOT}", "PYTHONSAFEPATH": "1"}


@pytest.mark.parametrize("words", [["list"], ["run", "--help"], []])
def test_a_foreign_shared_is_named_with_its_place_and_a_way_out(
    words: list[str], foreign: dict[str, str], tmp_path: Path
) -> None:
    done = run(words, foreign, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "The package `shared` must come from" in done.stderr
    assert str(tmp_path / "site" / "shared") in done.stderr
    assert "python -m venv .venv" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_doctor_works_without_ours(foreign: dict[str, str], tmp_path: Path) -> None:
    done = run(["doctor", "--live"], foreign, tmp_path)
    assert done.returncode == 1
    assert "BAD   packages" in done.stdout
    assert "ok    python" in done.stdout
    assert "Not tried" in done.stdout
    assert done.stderr == ""


def test_a_module_or_nothing_at_all_is_no_better(tmp_path: Path) -> None:
    assert str(tmp_path / "shared.py") in explain({"shared": str(tmp_path / "shared.py")})
    assert "none could be loaded" in explain({"shared": ""})
    assert set(foreign_packages(tmp_path)) == {"shared", "chapters", "labs"}


def run(words: list[str], foreign: dict[str, str], here: Path) -> subprocess.CompletedProcess[str]:
    """`workbook` as installed where the foreign package is."""
    return subprocess.run(
        [sys.executable, "-c", "from labs.cli import main; main()", *words],
        cwd=here,
        env=environment(**foreign),
        capture_output=True,
        text=True,
        check=False,
    )
