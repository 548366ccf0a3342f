"""Runs command lines on this machine: the real adapter behind the `CommandRunner` port."""

from __future__ import annotations

import asyncio
import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from chapters.ch01.command_output import CommandOutput
from chapters.ch01.platform_shell import Shell, find_shell
from chapters.ch01.process_tree import kill_tree
from shared.errors import ToolError
from shared.ports import CommandOutcome

CHUNK = 65_536  # bytes read at once
POLL = 0.05  # seconds between two looks whether a shell has ended that keeps its pipe open
QUIET = 0.2  # seconds of silence after which a pipe that a background child holds is left alone
LINGER = 2.0  # seconds that reading goes on at most when the shell has ended
DRAIN = 1.0  # seconds for what a killed command left in the pipe

TOO_LONG = {errno.E2BIG, errno.ENAMETOOLONG}
TOO_LONG_ON_WINDOWS = 206
EXHAUSTED = {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}


# region: local_commands
class LocalCommands:
    """Runs each command in a shell of its own, in `workspace`, with `environment` and no other.

    Not a sandbox: the command can do what you can do. It has no input and no terminal. `timeout` is
    in seconds. Of what it prints, the first `max_characters` are kept.

    When time is up, or the task that waits is cancelled, the shell and everything it started are
    killed. Otherwise a child left in the background (`server &`) lives on; what it prints after its
    shell has ended is read and thrown away, so start it as `server > server.log 2>&1 &`.
    """

    def __init__(
        self,
        workspace: Path,
        *,
        environment: Mapping[str, str],
        timeout: float = 120.0,
        max_characters: int = 50_000,
        shell: Shell | None = None,
    ) -> None:
        self._workspace = workspace.absolute()
        self._environment = dict(environment)
        self._timeout = timeout
        self._max_characters = max_characters
        self._shell = shell or find_shell(self._environment.get("PATH"))

    async def run(self, command: str) -> CommandOutcome:
        """Run to the end or to the time-out. Raises ToolError("shell_start_failed")."""
        process = self._start(command)
        try:
            running = RunningCommand(process, CommandOutput(self._max_characters))
            exit_code = await running.wait(self._timeout)
            if exit_code is None:
                end(process)
                await running.drain()
        except BaseException:
            # Whatever stops us, a cancellation above all, must not leave the tree alive. Here is no
            # `await` at which a second cancellation could get in.
            end(process)
            raise
        return CommandOutcome(
            running.output.close(),
            exit_code,
            truncated=running.output.truncated,
            timeout=self._timeout if exit_code is None else None,
        )

    def _start(self, command: str) -> subprocess.Popen[bytes]:
        if self._shell is None:
            raise start_failed("there is no shell on this machine. Tell the user.")
        try:
            return subprocess.Popen(
                self._shell.arguments(command),
                cwd=self._workspace,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                bufsize=0,
                **OWN_GROUP,
            )
        except OSError as error:
            raise start_failed(self._reason(error)) from None
        except ValueError:
            reason = "the command holds a character that cannot be passed on. Leave it out."
            raise start_failed(reason) from None

    def _reason(self, error: OSError) -> str:
        """Why a shell did not start, without the path that the system's own message names."""
        if error.errno in TOO_LONG or getattr(error, "winerror", None) == TOO_LONG_ON_WINDOWS:
            return "the command line is too long. Write it to a file and run the file."
        if error.errno in EXHAUSTED:
            return "the machine is out of processes, memory or open files. Try again later."
        if not os.access(self._workspace, os.X_OK):
            return "the workspace directory is gone, or closed to you. Tell the user."
        return "the shell cannot be run. Tell the user."


# endregion: local_commands

OWN_GROUP: dict[str, Any]
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
else:
    OWN_GROUP = {"start_new_session": True}


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill the shell with everything it started, and take note of its death."""
    kill_tree(process.pid)
    process.poll()  # otherwise it stays a zombie for as long as an escaped process holds the pipe


def start_failed(reason: str) -> ToolError:
    """The error of a command that did not even start: nothing has run."""
    return ToolError("shell_start_failed", f"The command was not started: {reason}")


# region: running
class RunningCommand:
    """A started shell, and the thread that reads what its tree prints until nobody can print more.

    The thread outlives `wait` if a background child keeps the pipe: should nobody read on, that
    child would be stopped by a full pipe, or killed by a closed one.
    """

    def __init__(self, process: subprocess.Popen[bytes], output: CommandOutput) -> None:
        assert process.stdout is not None
        self.output = output
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        reader = threading.Thread(
            target=self._read, args=(process.stdout,), name="command-output", daemon=True
        )
        try:
            reader.start()
        except RuntimeError:
            process.stdout.close()
            raise start_failed("the machine is out of threads. Try again later.") from None

    async def wait(self, timeout: float) -> int | None:
        """The shell's exit code, and its output is complete; or None if time is up and it runs."""
        give_up = time.monotonic() + timeout
        while (exit_code := self._process.poll()) is None:
            left = give_up - time.monotonic()
            if left <= 0:
                return None
            await self._until_over(min(left, POLL))
        ended = time.monotonic()
        while not self._over.is_set():
            quiet_at = max(ended, self.output.fed_at) + QUIET
            left = min(quiet_at, ended + LINGER) - time.monotonic()
            if left <= 0:
                break
            await self._until_over(left)
        return exit_code

    async def drain(self) -> None:
        """Take in what is left in the pipe of a killed command."""
        await self._until_over(DRAIN)

    async def _until_over(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    def _read(self, pipe: IO[bytes]) -> None:
        with suppress(OSError), pipe:
            while chunk := pipe.read(CHUNK):
                self.output.feed(chunk)
        self._process.wait()
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._over.set)


# endregion: running
