"""Commands that cannot be started: why, without a path of the host; and which shell is used."""

from __future__ import annotations

import errno
import shlex
import subprocess
import threading
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest

from chapters.ch01 import local_commands
from chapters.ch01.local_commands import LocalCommands
from chapters.ch01.platform_shell import Shell, find_shell
from chapters.ch01.tests.real_commands import (
    WINDOWS,
    RealWorkspace,
    needs_posix,
)
from shared.errors import ToolError


async def start_failure(commands: LocalCommands, command: str = "echo hello") -> str:
    with pytest.raises(ToolError) as caught:
        await commands.run(command)
    assert caught.value.code == "shell_start_failed"
    return caught.value.message


@pytest.mark.anyio
async def test_a_workspace_that_was_removed_is_a_failure_without_its_path(
    workspace: RealWorkspace,
) -> None:
    commands = workspace.commands()
    workspace.path.rmdir()
    message = await start_failure(commands)
    assert "workspace directory is gone" in message
    assert str(workspace.path) not in message


@pytest.mark.anyio
async def test_a_command_that_is_too_long_says_what_to_do_instead(workspace: RealWorkspace) -> None:
    message = await start_failure(workspace.commands(), "echo " + "x" * 3_000_000)
    assert "too long. Write it to a file" in message


@pytest.mark.anyio
async def test_a_shell_that_cannot_be_run_is_a_failure_without_its_path(
    workspace: RealWorkspace,
) -> None:
    missing = str(workspace.path / "bash")
    message = await start_failure(workspace.commands(shell=Shell("bash", missing)))
    assert "shell cannot be run" in message
    assert missing not in message


@pytest.mark.anyio
async def test_a_machine_without_a_shell_says_so(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_commands, "find_shell", lambda _: None)
    assert "no shell on this machine" in await start_failure(workspace.commands())


@pytest.mark.parametrize("command", ["echo \0", "echo \ud800"])
@pytest.mark.anyio
async def test_a_character_that_no_command_line_can_hold_is_a_failure(
    workspace: RealWorkspace, command: str
) -> None:
    if WINDOWS and "\0" not in command:
        pytest.skip("Windows passes half a surrogate pair on")
    assert "cannot be passed on" in await start_failure(workspace.commands(), command)


@pytest.mark.anyio
async def test_a_machine_that_is_out_of_processes_asks_to_try_again_later(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert "Try again later" in await start_failure(workspace.commands())


@needs_posix
@pytest.mark.anyio
async def test_a_machine_that_is_out_of_threads_leaves_no_process(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    before = psutil.Process().children()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        message = await start_failure(workspace.commands(), shlex.join(workspace.sleep))
    assert "out of threads" in message
    assert psutil.Process().children() == before


def test_a_shell_is_found_on_this_machine() -> None:
    found = find_shell()
    assert found is not None
    assert found.name in ({"pwsh", "powershell"} if WINDOWS else {"bash", "sh"})
    assert Path(found.path).is_file()


@needs_posix
def test_a_shell_in_the_current_directory_is_not_trusted(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bash", "sh"):
        (workspace.path / name).write_text("#!/bin/sh\n")
        (workspace.path / name).chmod(0o755)
    monkeypatch.chdir(workspace.path)
    found = find_shell(".")
    assert found is not None
    assert found.path in {"/bin/bash", "/bin/sh"}


def test_powershell_gets_no_profile_and_the_command_as_it_is() -> None:
    arguments = Shell("pwsh", "pwsh.exe").arguments('Get-Item "{a}" # why')
    assert arguments[1:-1] == ["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"]
    assert '\nGet-Item "{a}" # why\n' in arguments[-1]
