"""The command where its output is closed, full or read by nobody, or its directory is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from labs.cli import main; main(sys.argv[1:])"
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="written for a POSIX shell")


def in_shell(line: str, *words: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run `line` in sh, where "$@" is the command line of the workbook."""
    command = [sys.executable, "-c", PROGRAM, *words]
    return subprocess.run(
        ["sh", "-c", line, "sh", *command], cwd=cwd, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("words", [[], ["list"], ["show", "2"], ["lab", "1"], ["exercise"]])
def test_a_closed_standard_output_is_no_error(words: list[str]) -> None:
    ended = in_shell('"$@" >&-', *words)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("words", [["list"], ["lab", "2"]])
def test_a_reader_who_leaves_early_sees_no_traceback(words: list[str]) -> None:
    ended = in_shell('"$@" | head -n 1', *words)
    assert len(ended.stdout.splitlines()) == 1
    assert ended.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [[], ["list"], ["lab", "1"]])
def test_a_full_disk_behind_standard_output_is_one_sentence(words: list[str]) -> None:
    ended = in_shell('"$@" >/dev/full', *words)
    assert ended.returncode == 1
    assert ended.stderr == ("What there is to say cannot be written: No space left on device.\n")


def test_a_directory_that_was_deleted_is_one_sentence(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = in_shell('rmdir "$PWD" && "$@"', "list", cwd=gone)
    assert ended.returncode == 2
    assert ended.stderr.startswith("The directory you are in was deleted.")
