"""A check ends, whatever the reader's file does and whatever ends the check."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from labs.desk.book import Book
from labs.desk.bounded_run import KEPT, run_bounded
from labs.desk.exercises import Exercise
from labs.desk.grading import Grade, grade
from labs.desk.limits import MEMORY_SENTENCE
from labs.desk.own_file import start
from labs.packages import ROOT
from tests.desk_sample import SOLUTION, add_exercise, copy_of_workbook

PATIENCE = 20.0
RETURN = "return len(words)"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not count the memory")
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")

CHECK = """\
import sys
from pathlib import Path
from labs.cli import main
import labs.desk.book
from labs.desk.book import Book
root = Path(sys.argv[1])
labs.desk.book.this_book = lambda: Book.at(root, {})
main(["check"])
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    return copy_of_workbook(tmp_path_factory.mktemp("workbook"))


@pytest.fixture(scope="module")
def exercise(book: Book) -> Exercise:
    made = add_exercise(book)
    start(book, made)
    return made


@pytest.fixture
def graded(book: Book, exercise: Exercise) -> Callable[[str], Grade]:
    """What comes of a file with this text."""

    def run(text: str) -> Grade:
        exercise.own_file(book).write_text(text, encoding="utf-8")
        return grade(book, [book.show(exercise.folder)], "mine")

    return run


def wait_until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < give_up, "it does not happen"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    with suppress(psutil.Error):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_check_that_is_killed_leaves_nothing_running(
    book: Book, exercise: Exercise, tmp_path: Path, name: str
) -> None:
    """With SIGKILL the check can do nothing any more: the run of the tests sees it and ends."""
    started = tmp_path / "started"
    endless = (
        f"import os\n    from pathlib import Path\n    Path({str(started)!r}).write_text("
        "str(os.getpid()))\n    while True:\n        pass"
    )
    exercise.own_file(book).write_text(SOLUTION.replace(RETURN, endless), encoding="utf-8")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    check = subprocess.Popen(
        [sys.executable, "-c", CHECK, str(book.root)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_until(lambda: started.exists() and started.read_text(encoding="utf-8"))
        child = int(started.read_text(encoding="utf-8"))
        assert alive(child)
        before = time.monotonic()
        check.send_signal(getattr(signal, name))
        said = check.communicate(timeout=PATIENCE)[1]
        wait_until(lambda: not alive(child))
        assert time.monotonic() - before < 5, "long before the time of the test is over"
    finally:
        check.kill()
        check.wait()
    if name != "SIGKILL":
        assert check.returncode == 128 + getattr(signal, name)
        assert said == b""
        assert list(temporary.iterdir()) == []


@POSIX
def test_a_signal_that_was_ignored_before_stays_ignored() -> None:
    program = (
        "import os, signal\n"
        "from labs.desk.bounded_run import cleaned_up_when_told_to_end\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with cleaned_up_when_told_to_end():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "print(signal.getsignal(signal.SIGHUP).name, signal.getsignal(signal.SIGTERM).name)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "SIG_IGN SIG_DFL"


@POSIX
def test_the_alarm_ends_code_that_never_comes_back_into_python() -> None:
    program = (
        "import re\nimport time\nfrom labs.desk.limits import ended_by_alarm\n"
        "with ended_by_alarm(0.05):\n    pass\ntime.sleep(0.1)\nprint('went on', flush=True)\n"
        "with ended_by_alarm(0.1):\n    re.match('(a+)+$', 'a' * 60 + 'b')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.stdout == "went on\n", "a test that is in time is left alone"
    assert done.returncode == -signal.SIGALRM


def test_only_the_end_of_what_a_run_prints_is_kept() -> None:
    program = "for n in range(20_000): print('x' * 100)\nprint('the end')\n"
    outcome = run_bounded(
        [sys.executable, "-c", program],
        folder=ROOT,
        environment=dict(os.environ),
        overdue=lambda: False,
    )
    assert (outcome.code, outcome.stopped) == (0, False)
    assert outcome.said.rstrip().endswith("the end")
    assert len(outcome.said) <= KEPT


@LINUX
def test_a_file_that_prints_without_measure_takes_no_memory(
    graded: Callable[[str], Grade], tmp_path: Path
) -> None:
    peak = tmp_path / "peak"
    text = SOLUTION.replace("import re\n", "import re\nfrom pathlib import Path\n") + (
        "\nfor _ in range(30):\n    print('x' * 1_000_000)\n"
        f"Path({str(peak)!r}).write_text(Path('/proc/self/status').read_text())\n"
    )
    assert graded(text).good
    lines = dict(line.split(":", 1) for line in peak.read_text().splitlines())
    assert int(lines["VmHWM"].split()[0]) < 90_000, "kilobytes; it printed 120 000"


@LINUX
@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SOLUTION.replace(RETURN, "return len(bytearray(3 << 30))"), 12),
        (SOLUTION + "\nrooms = bytearray(3 << 30)\n", 22),
        (SOLUTION.replace(RETURN, "return count_words(text + 4096 * text)"), 12),
    ],
    ids=["in a function", "at import", "in a recursion"],
)
def test_a_file_that_takes_all_memory_is_stopped_and_its_line_named(
    graded: Callable[[str], Grade], text: str, line: int
) -> None:
    (verdict,) = graded(text).failed
    assert verdict.trouble is not None
    assert verdict.trouble.message == (MEMORY_SENTENCE,)
    assert verdict.trouble.line == line
