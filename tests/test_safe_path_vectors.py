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
from tests.vectors.world import CannotSetUp, UnusableRow, new_world

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
PIPE = [{"fifo": "p"}]


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
        a_row("write", {"ok": True, "mode": {"b.txt": "600"}}, FILE, path="a.txt", content="x"),
        a_row("write", {"ok": True, "after": {"p": "x"}}, PIPE, path="a.txt", content="x"),
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
        (json.dumps(GOOD | {"requires": "moon"}), "requires is no list"),
        (json.dumps(GOOD | {"id": 1}), "id is no string"),
        (json.dumps(GOOD | {"id": "a\n"}), "the id cannot be printed"),
        (json.dumps(GOOD | {"op": ["read"]}), "op is no string"),
        (json.dumps(GOOD | {"args": ["path"]}), "args is no JSON object"),
        (json.dumps(GOOD | {"expect": ["ok"]}), "expect is no JSON object"),
        (json.dumps(GOOD | {"setup": {"file": "x"}}), "setup is no list"),
        ('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 1: nested too deeply"),
        (json.dumps(GOOD | {"args": {"path": json.loads("[" * 50 + "]" * 50)}}), "too deeply"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(UnusableFile, match=problem):
        load(tmp_path / "rows.jsonl")


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ("mkdir", "unknown setup step"),
        ({"mkdir": 1}, "mkdir takes a name, not 1"),
        ({"file": ""}, "file takes a name"),
        ({"file": "a\0b"}, "file takes a name"),
        ({"file": "a", "text": 1}, "text is a text"),
        ({"file": "a", "text": "\udcff"}, "text is a text"),
        ({"file": "a", "hex": "zz"}, "hex is hexadecimal digits"),
        ({"file": "a", "mode": "9x"}, "mode is an octal number"),
        ({"symlink": ["a"]}, "symlink takes a name and a target"),
        ({"hardlink": "a"}, "hardlink takes two names"),
        ({"chmod": ["zz", "9x"]}, "chmod takes a name and an octal mode"),
        ({"chmod": ["zz", "77777"]}, "chmod takes a name and an octal mode"),
        ({"rawfile": "zz"}, "rawfile takes a name in hexadecimal digits"),
        ({"rawfile": "6100"}, "rawfile takes a name in hexadecimal digits"),
        ({"sparse": ["a", -1]}, "sparse takes a name and a size"),
        ({"sparse": ["a", 10**30]}, "sparse takes a name and a size"),
        ({"device": ["a", 1]}, "device takes a name and two numbers"),
        ({"race_exchange": ["a", 1]}, "race_exchange takes two names"),
        ({"root_symlink": "x"}, "root_symlink takes true or false"),
    ],
    ids=lambda value: str(value).replace("\0", "NUL") if isinstance(value, dict) else None,
)
def test_a_setup_step_that_is_malformed_is_refused(
    tmp_path: Path, step: Any, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(GOOD | {"id": "bad-1", "setup": [step]}))
    assert main([str(rows)]) == 2
    assert f"row bad-1: {problem}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("expect", "problem"),
    [
        ({"ok": False}, "ok is false, so a code is needed"),
        ({"ok": "yes"}, "ok is true, false or null"),
        ({"ok": False, "code": 1}, "code is a code, not 1"),
        ({"ok": False, "code": "x", "also": "y"}, "also is a list of codes"),
        ({"ok": True, "after": {"a": 1}}, "after is texts by name"),
        ({"ok": True, "mode": "rw"}, "mode is a mode, or modes by name"),
        ({"ok": True, "absent": "a"}, "absent is a list of names"),
        ({"ok": True, "no_leak": "no"}, "no_leak is true or false"),
    ],
)
def test_an_expectation_that_is_malformed_is_refused(
    tmp_path: Path, expect: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(GOOD | {"id": "bad-1", "expect": expect}))
    assert main([str(rows)]) == 2
    assert f"row bad-1: expect: {problem}" in capsys.readouterr().err


def test_a_row_cannot_reach_what_is_outside_of_its_world(tmp_path: Path) -> None:
    host = tmp_path / "host"
    host.mkdir(mode=0o755)
    (host / "file").write_text("keep")
    up = "../" * 40 + str(host).lstrip("/")
    link = {"symlink": ["l", str(host)]}
    new = {"symlink": ["n", f"{host}/new"]}
    steps: list[list[dict[str, Any]]] = [
        [{"file": f"{up}/new"}],
        [{"file": f"{host}/new"}],
        [{"file": f"$OUT/{up}/new"}],
        [{"mkdir": f"{up}/new"}],
        [{"rawfile": f"{up}/new".encode().hex()}],
        [{"sparse": [f"{up}/new", 1]}],
        [{"fifo": f"{up}/new"}],
        [{"socket": f"{up}/new"}],
        [{"symlink": [f"{up}/new", "x"]}],
        [{"hardlink": [f"{up}/new", "$OUT/secret.txt"]}],
        [{"hardlink": ["h", f"{up}/file"]}],
        [{"device": [f"{up}/new", 1, 3]}],
        [{"chmod": [up, "700"]}],
        [{"chmod": ["..", "000"]}],
        [{"race_exchange": ["a", f"{up}/file"]}],
        # Through a link that an earlier step has made.
        [link, {"file": "l/new"}],
        [link, {"mkdir": "l/new"}],
        [link, {"mkdir": "l/new/deeper"}],
        [link, {"symlink": ["l/new", "x"]}],
        [link, {"hardlink": ["h", "l/file"]}],
        [link, {"chmod": ["l", "700"]}],
        [link, {"chmod": ["l/file", "777"]}],
        [link, {"race_exchange": ["l/file", "a"]}],
        [new, {"file": "n"}],
        [new, {"sparse": ["n", 1]}],
        [new, {"mkdir": "n"}],
        [new, {"file": "n/x"}],
        [{"symlink": ["f", f"{host}/file"]}, {"file": "f"}],
        [{"symlink": ["f", f"{host}/file"]}, {"hardlink": ["h", "f"]}, {"file": "h"}],
    ]
    before = {path: path.lstat() for path in (host, host / "file")}
    for setup in steps:
        with new_world() as world, pytest.raises(UnusableRow):
            world.set_up(setup)
        assert {path: path.lstat() for path in (host, *host.iterdir())} == before, setup


def test_a_row_may_name_what_is_in_its_world() -> None:
    with new_world() as world:
        world.set_up(
            [
                {"file": "../ROOT2/a"},
                {"file": "$OUT/a"},
                {"file": "$ROOT/d/a"},
                {"symlink": ["l", "d"]},
                {"file": "l/b"},
            ]
        )
        for path in ("ROOT2/a", "OUT/a", "ROOT/d/a", "ROOT/d/b"):
            assert (world.base / path).is_file()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"setup": [{"file": "../../../x"}]}, "'../../../x' is outside of the world"),
        ({"setup": [{"file": "a"}, {"file": "a/b"}]}, "Not a directory"),
        ({"setup": [{"fifo": "a"}, {"file": "a"}]}, "'a' is there already and is no file"),
        ({"setup": [{"file": "a" * 256}]}, "File name too long"),
        ({"setup": [{"chmod": ["nope", "600"]}]}, "No such file"),
        ({"setup": [{"file": "\ud800"}]}, "no name of a file here"),
        ({"expect": {"ok": True, "after": {"/etc/hostname": "x"}}}, "outside of the world"),
        ({"expect": {"ok": True, "mode": {"/etc": "700"}}}, "outside of the world"),
    ],
)
def test_a_row_that_cannot_be_played_is_named_and_the_others_are_run(
    tmp_path: Path, change: dict[str, Any], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(f"{json.dumps(GOOD | change | {'id': 'bad-1'})}\n{json.dumps(GOOD)}\n")
    assert main([str(rows)]) == 2
    printed = capsys.readouterr()
    assert "row bad-1: " in printed.err
    assert problem in printed.err
    assert "1 passed, 0 failed, 0 not applicable here, 1 unusable" in printed.out


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
