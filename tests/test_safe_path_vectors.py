"""Every row of tests/vectors/safe-path.jsonl holds, and the program that runs them can say no."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shared.errors import ToolError
from tests.vectors.safe_path import Row, Runner, UnusableFile, load, main
from tests.vectors.worker import Files, Worker
from tests.vectors.world import CannotSetUp, new_world

VECTORS = Path(__file__).with_name("vectors") / "safe-path.jsonl"
ROWS = load(VECTORS)


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.stop()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: Row, runner: Runner) -> None:
    try:
        complaints = runner.complaints(row)
    except CannotSetUp as reason:
        pytest.skip(str(reason))
    assert complaints == []


# -- the runner itself


def a_row(op: str, expect: dict[str, Any], setup: list[dict[str, Any]], **args: str) -> Row:
    return Row("x", op, args, setup, expect, ())


FILE = [{"file": "a.txt", "text": "alpha"}]


@pytest.mark.parametrize(
    "row",
    [
        a_row("read", {"ok": False, "code": "file_not_found"}, FILE, path="a.txt"),
        a_row("read", {"ok": True}, [], path="a.txt"),
        a_row("read", {"ok": False, "code": "path_escape"}, [], path="a.txt"),
        a_row("read", {"ok": True, "content": "beta"}, FILE, path="a.txt"),
        a_row("glob", {"ok": True, "matches": []}, FILE, pattern="*"),
        a_row("resolve", {"ok": True, "path": "b.txt"}, FILE, path="a.txt"),
        a_row("write", {"ok": True, "bytes": 2}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "after": {"a.txt": "y"}}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "after": {"b.txt": "x"}}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "mode": "600"}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "mode": {"a.txt": "600"}}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "still_symlink": ["a.txt"]}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "absent": ["a.txt"]}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "no_stray": True}, FILE, path="b.txt", content="x"),
    ],
    ids=lambda row: f"{row.op}-{list(row.expect)[-1]}",
)
def test_a_wrong_expectation_is_noticed(row: Row, runner: Runner) -> None:
    assert runner.complaints(row)


class Leaky:
    """An adapter with every fault the runner has to see."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def read_text(self, path: str) -> str:
        if path == "hang":
            while True:
                pass
        if path == "die":
            os._exit(1)
        if path == "crash":
            raise ValueError("not a ToolError")
        if path == "host":
            raise ToolError("path_escape", f"{self.root / path} is not in {self.root}")
        return (self.root / path).read_text()

    async def write_text(self, path: str, content: str) -> int:
        return (self.root / path).write_text(content)

    async def edit_text(self, path: str, old: str, new: str) -> None:
        (self.root / "stray").touch()
        raise ToolError("text_not_found", "")

    async def glob(self, pattern: str) -> list[str]:
        return []

    async def resolve(self, path: str) -> str:
        return path


def open_leaky(root: Path) -> AbstractContextManager[Files]:
    return nullcontext(Leaky(root))


@pytest.fixture(scope="module")
def leaky() -> Iterator[Runner]:
    runner = Runner(open_leaky)
    yield runner
    runner.stop()


@pytest.mark.parametrize(
    "row",
    [
        a_row("read", {"ok": None}, [], path="crash"),
        a_row("read", {"ok": None}, [], path="die"),
        a_row("read", {"ok": None, "no_leak": True}, [], path="host"),
        a_row("read", {"ok": None, "no_leak": True}, [], path="../OUT/secret.txt"),
        a_row("write", {"ok": None, "no_change_outside": True}, [], path="../OUT/x", content=""),
        a_row(
            "edit",
            {"ok": False, "code": "text_not_found", "no_stray": True},
            [],
            path="a.txt",
            old="x",
            new="y",
        ),
    ],
    ids=["exception", "death", "message", "content", "outside", "stray"],
)
def test_a_fault_is_noticed(row: Row, leaky: Runner) -> None:
    assert leaky.complaints(row)


def test_a_call_that_hangs_is_ended_and_the_next_one_works() -> None:
    worker = Worker(open_leaky, patience=0.3)
    with new_world() as world:
        world.set_up(FILE)
        (hung,) = worker.call(world.root, "read", {"path": "hang"})
        (works,) = worker.call(world.root, "read", {"path": "a.txt"})
        worker.stop()
    assert hung.broken == "no answer within 0.3 seconds"
    assert works.value == "alpha"


def test_a_row_that_needs_what_is_not_here_is_skipped_with_its_reason(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = replace(ROWS[0], requires=("linux",))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(CannotSetUp, match="needs Linux"):
        runner.complaints(row)


GOOD = json.loads(VECTORS.read_text(encoding="utf-8").splitlines()[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no row"),
        ("{", "line 1"),
        ("[]", "not a JSON object"),
        ('{"id": "x"}', "the row has no args"),
        (json.dumps(GOOD | {"op": "delete"}), "unknown op 'delete'"),
        (json.dumps(GOOD | {"args": {}}), "read takes"),
        (json.dumps(GOOD | {"expect": {}}), "expect has no ok"),
        (json.dumps(GOOD | {"expect": {"ok": True, "okay": 1}}), "unknown expectation okay"),
        (json.dumps(GOOD | {"setup": [{"dir": "x"}]}), "unknown setup step"),
        (json.dumps(GOOD | {"requires": ["moon"]}), "unknown requirement moon"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(UnusableFile, match=problem):
        load(tmp_path / "rows.jsonl")


def test_the_exit_status_tells_what_came_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = GOOD | {"id": "wrong", "expect": {"ok": True}}
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(wrong)}\n")
    assert main([str(tmp_path / "rows.jsonl")]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("wrong (read): expected success; given: error path_escape")
    assert printed[-1] == "2 rows: 1 passed, 1 failed, 0 not applicable here"
    assert main([str(tmp_path / "nope.jsonl")]) == 2
    assert main([]) == 2


def test_it_runs_as_a_command(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps(GOOD)}\n")
    done = subprocess.run(
        [sys.executable, "-m", "tests.vectors.safe_path", tmp_path / "rows.jsonl"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "1 rows: 1 passed, 0 failed, 0 not applicable here\n"
