"""What the tests with real processes share: a workspace, its shell, and how to wait for things."""

from __future__ import annotations

import asyncio
import os
import shlex
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import psutil  # type: ignore[import-untyped]
import pytest

from chapters.ch01 import local_commands
from chapters.ch01.environment import child_environment
from chapters.ch01.local_commands import LocalCommands

WINDOWS = sys.platform == "win32"
needs_posix = pytest.mark.skipif(WINDOWS, reason="written in the language of sh")
needs_signals = pytest.mark.skipif(WINDOWS, reason="Windows has no signals")
needs_sessions = pytest.mark.skipif(WINDOWS, reason="Windows has no sessions")
needs_raw_bytes = pytest.mark.skipif(WINDOWS, reason="PowerShell may re-encode what programs print")


class RealWorkspace:
    """A directory to run commands in, and the end of whatever they left running."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # A command line that no other process of this machine has: counting it counts ours.
        self.sleep = ["sleep", f"60.{uuid4().int}"]

    def commands(self, **options: Any) -> LocalCommands:
        """The real command runner in this workspace."""
        environment = child_environment(os.environ, [])
        return LocalCommands(self.path, **{"environment": environment, **options})

    def python(self, code: str, name: str = "script.py") -> str:
        """The command line that runs `code`, in the language of this machine's shell."""
        (self.path / name).write_text(textwrap.dedent(code), encoding="utf-8")
        words = [sys.executable, "-I", "-S", name]
        if WINDOWS:
            return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in words)
        return shlex.join(words)

    def holds(self, name: str) -> bool:
        """True if there is a file of this name."""
        return (self.path / name).exists()

    def pid(self, name: str) -> int:
        """The process id that a command wrote to `name`."""
        return int((self.path / name).read_text())

    def is_ready(self, name: str) -> bool:
        """True if a command has written a whole line to `name`."""
        return self.holds(name) and (self.path / name).read_text().endswith("\n")

    async def pid_appears(self, name: str) -> int:
        """The process id that a command writes to `name` as soon as it is ready."""
        await until(lambda: self.is_ready(name))
        return self.pid(name)

    def sleeping(self) -> list[psutil.Process]:
        """The processes that run `self.sleep`."""
        everybody = psutil.process_iter(["cmdline"])
        return [process for process in everybody if process.info["cmdline"] == self.sleep]

    def kill_what_is_left(self) -> None:
        """Kill each process whose id is in a file `*.pid`: a failed test leaves it running."""
        for path in self.path.glob("*.pid"):
            with suppress(psutil.Error, ValueError):
                psutil.Process(int(path.read_text())).kill()


def run_out_of_time_when(condition: Callable[[], bool], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an hour pass on the clock of the time-out as soon as `condition` holds."""
    looks = count()

    def monotonic() -> float:
        first = next(looks) == 0  # sets the time-out, however fast the command was ready
        return time.monotonic() + (3_600 if not first and condition() else 0)

    monkeypatch.setattr(local_commands, "time", SimpleNamespace(monotonic=monotonic))


async def until(condition: Callable[[], bool], seconds: float = 10) -> None:
    """Return as soon as `condition` holds; fail if it does not within `seconds`."""
    give_up = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up, "waited in vain"
        await asyncio.sleep(0.005)


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancel `task` and wait for its end."""
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


def is_gone(pid: int) -> bool:
    """True if no process with this id runs; one that only waits to be buried does not run."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def reader_threads() -> list[threading.Thread]:
    """The threads that still read the output of a command."""
    return [thread for thread in threading.enumerate() if thread.name == "command-output"]


AGENT = """
import asyncio, os, sys
from itertools import count
from pathlib import Path
from chapters.ch01.local_commands import LocalCommands

commands = LocalCommands(Path(sys.argv[1]), environment=os.environ)
print(asyncio.run(commands.run(sys.argv[2])).output)
"""


def run_agent(workspace: RealWorkspace, command: str, *, before: str = "") -> subprocess.Popen[str]:
    """Another interpreter, which runs `command`, prints its output and exits."""
    program = textwrap.dedent(before) + AGENT
    return subprocess.Popen(
        [sys.executable, "-c", program, str(workspace.path), command],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
