"""Runs rows of safe-path vectors against the adapter that this system's workspaces get.

    python -m tests.vectors.safe_path FILE.jsonl

Prints every row that fails, with what was expected and what was given, and a closing count. Exit
status: 0 if no row failed, 1 if one did, 2 if the file or one of its rows cannot be used.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache, partial
from pathlib import Path

from chapters.ch02.swap_attack import SwapAttack
from chapters.ch02.workspace import open_workspace
from tests.vectors.row import Row, UnusableFile, load
from tests.vectors.row_forms import read_mode
from tests.vectors.worker import Answer, Opener, Worker
from tests.vectors.world import NOBODY, SECRET, CannotSetUp, UnusableRow, World, new_world

__all__ = ["Row", "Runner", "UnusableFile", "load", "main"]

RACE_CALLS = 300
OPENER = partial(open_workspace, fsync=False)


class Runner:
    """Runs rows, one world each; the processes that do the work are kept from row to row."""

    def __init__(self, opener: Opener = OPENER) -> None:
        self._plain = Worker(opener)
        self._nobody = Worker(opener, NOBODY)

    def stop(self) -> None:
        """End the processes."""
        self._plain.stop()
        self._nobody.stop()

    def complaints(self, row: Row) -> list[str]:
        """What is wrong, nothing if the row holds. Raises CannotSetUp or UnusableRow."""
        for requirement in row.requires:
            if not _REQUIREMENTS[requirement][0]():
                raise CannotSetUp(_REQUIREMENTS[requirement][1])
        as_nobody = "non_root" in row.requires and _is_root()
        with new_world() as world:
            world.set_up(row.setup, NOBODY if as_nobody else None)
            names, outside = world.names(), world.outside()
            args = {key: world.fill_in(value) for key, value in row.args.items()}
            worker = self._nobody if as_nobody else self._plain
            with SwapAttack(*world.race) if world.race else nullcontext():
                times = RACE_CALLS if world.race else 1
                answers = worker.call(world.opened, row.op, args, times)
            found = [text for answer in answers for text in _about_answer(row, answer, world)]
            found += _about_world(row, world, names)
            if row.expect.get("no_change_outside") and world.outside() != outside:
                found.append("expected nothing outside to change; given: something did")
            if row.expect.get("no_stray"):
                succeeded = any(not (answer.code or answer.broken) for answer in answers)
                found += _about_strays(row, world.names(), names, succeeded)
            return list(dict.fromkeys(found))


def _about_answer(row: Row, answer: Answer, world: World) -> Iterator[str]:
    expect = row.expect
    codes = [expect["code"], *expect.get("also", ())] if "code" in expect else []
    wanted = f"error {' or '.join(codes)}" if codes else "success"
    if answer.broken:
        yield f"expected an answer; given: {answer}"
        return
    wrong_way = expect["ok"] is not None and expect["ok"] is bool(answer.code)
    if wrong_way or (answer.code and codes and answer.code not in codes):
        yield f"expected {wanted}; given: {answer}"
    for key in ("content", "matches", "path", "bytes"):
        if key in expect and not answer.code and answer.value != expect[key]:
            yield f"expected {key} {expect[key]!a}; given: {answer}"
    if expect.get("no_leak"):
        told = answer.message if answer.code else str(answer.value)
        for word in (SECRET, str(world.base)):
            if word in told and word not in str(expect.get("content")):
                yield f"expected no secret and no path of the host; given: {answer}"


def _about_world(row: Row, world: World, names: set[str]) -> Iterator[str]:
    expect = row.expect
    for name, text in expect.get("after", {}).items():
        path = Path(world.path(name))
        try:
            # Opening a pipe would wait for somebody who writes to it.
            given = path.read_bytes() if stat.S_ISREG(path.stat().st_mode) else b""
        except OSError as error:
            yield f"expected {name!a} to hold {text!a}; given: {os.strerror(error.errno or 0)}"
            continue
        if given != text.encode():
            yield f"expected {name!a} to hold {text!a}; given: {given!a}"
    for name, mode in _modes(row):
        try:
            bits = f"{os.stat(world.path(name)).st_mode & 0o7777:03o}"  # noqa: PTH116
        except OSError as error:
            bits = os.strerror(error.errno or 0)
        if bits != mode:
            yield f"expected {name!a} to have mode {mode}; given: {bits}"
    for name in expect.get("still_symlink", ()):
        if not os.path.islink(world.path(name)):  # noqa: PTH114
            yield f"expected {name!a} to be a link still; given: it is not"
    for name in expect.get("absent", ()):
        if os.path.lexists(world.path(name)):
            yield f"expected {name!a} not to exist; given: it does"


def _modes(row: Row) -> list[tuple[str, str]]:
    """Names and modes: of several files, of one given with its name, or of the file written to."""
    expected = row.expect.get("mode")
    if expected is None:
        return []
    if isinstance(expected, dict):
        pairs = list(expected.items())
    elif isinstance(expected, list):
        pairs = [tuple(expected)]
    else:
        pairs = [(str(row.args.get("path", "")), expected)]
    return [(name, f"{read_mode(mode):03o}") for name, mode in pairs]


def _about_strays(row: Row, now: set[str], before: set[str], succeeded: bool) -> Iterator[str]:
    allowed = set(before)
    if succeeded:
        for name in row.expect.get("after", {}):
            path = Path(name)
            allowed |= {str(part) for part in (path, *path.parents)}
    if row.expect["ok"] is None and isinstance(row.args.get("path"), str):
        path = Path(row.args["path"])
        allowed |= {str(part) for part in (path, *path.parents)}
    for name in sorted(now - allowed):
        yield f"expected nothing else in the workspace; given: {name!a}"
    for name in sorted(before - now):
        yield f"expected {name!a} to be left; given: it is gone"


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@cache
def _can_link(kind: str) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        old.touch()
        try:
            new.symlink_to(old) if kind == "symlink" else new.hardlink_to(old)
        except (OSError, NotImplementedError):
            return False
        return True


_REQUIREMENTS: dict[str, tuple[Callable[[], bool], str]] = {
    "symlink": (lambda: _can_link("symlink"), "needs symbolic links"),
    "hardlink": (lambda: _can_link("hardlink"), "needs hard links"),
    "posix": (lambda: os.name == "posix", "needs a POSIX system"),
    "linux": (lambda: sys.platform.startswith("linux"), "needs Linux"),
    "root": (_is_root, "needs to be run as root"),
    "non_root": (lambda: hasattr(os, "seteuid"), "needs a user who is not root"),
}


def main(arguments: list[str]) -> int:
    """Run a file of vectors and say what came of it."""
    if len(arguments) != 1:
        print("usage: python -m tests.vectors.safe_path FILE.jsonl", file=sys.stderr)
        return 2
    try:
        rows = load(Path(arguments[0]))
    except UnusableFile as error:
        print(error, file=sys.stderr)
        return 2
    runner = Runner()
    failed, passed, unusable, skipped = 0, 0, 0, Counter[str]()
    try:
        for row in rows:
            try:
                complaints = runner.complaints(row)
            except CannotSetUp as reason:
                skipped[str(reason)] += 1
                continue
            except UnusableRow as problem:
                unusable += 1
                print(f"{arguments[0]}, row {row.id}: {problem}", file=sys.stderr)
                continue
            failed += bool(complaints)
            passed += not complaints
            for complaint in complaints:
                print(f"{row.id} ({row.op}): {complaint}")
    finally:
        runner.stop()
    reasons = "; ".join(f"{number} {reason}" for reason, number in sorted(skipped.items()))
    print(
        f"{len(rows)} rows: {passed} passed, {failed} failed, "
        f"{skipped.total()} not applicable here"
        + (f" ({reasons})" if reasons else "")
        + (f", {unusable} unusable" if unusable else "")
    )
    if unusable:
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
