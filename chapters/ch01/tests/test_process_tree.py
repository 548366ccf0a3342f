"""Time-out, cancellation, Ctrl-C: whatever a command has started is gone afterwards."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import signal
import threading
import time

import psutil  # type: ignore[import-untyped]
import pytest

from chapters.ch01 import local_commands
from chapters.ch01.command_output import CommandOutput
from chapters.ch01.platform_shell import Shell
from chapters.ch01.process_tree import kill_tree
from chapters.ch01.tests.real_commands import (
    RealWorkspace,
    cancel,
    is_gone,
    needs_posix,
    needs_sessions,
    needs_signals,
    reader_threads,
    run_agent,
    run_out_of_time_when,
    until,
)
from shared.errors import ToolError

pytestmark = pytest.mark.anyio

# A process that has a child, both of which ignore every polite request to end.
STUBBORN_FAMILY = """
    import os, signal, subprocess, sys, time

    child = "child" in sys.argv
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if not child:
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, "child"], start_new_session={apart}
        )
    print("child" if child else "parent", flush=True)
    with open("child.pid" if child else "parent.pid", "w") as file:
        print(os.getpid(), file=file)
    time.sleep(60)
"""


@needs_posix
async def test_the_timeout_kills_a_grandchild_that_ignores_sigterm(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_out_of_time_when(lambda: workspace.is_ready("child.pid"), monkeypatch)
    command = """
        sh -c 'trap "" TERM INT HUP; echo ready; echo $$ > child.pid; while :; do sleep 9; done' &
        wait
    """
    outcome = await workspace.commands(timeout=20).run(command)
    assert is_gone(workspace.pid("child.pid"))
    assert (outcome.output, outcome.exit_code, outcome.timeout) == ("ready\n", None, 20)


@needs_posix
async def test_the_timeout_also_ends_a_shell_that_has_closed_its_output(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_out_of_time_when(lambda: workspace.is_ready("shell.pid"), monkeypatch)
    outcome = await workspace.commands().run("exec >&- 2>&-; echo $$ > shell.pid; sleep 60")
    assert (outcome.output, outcome.exit_code) == ("", None)
    assert is_gone(workspace.pid("shell.pid"))


@needs_posix
async def test_what_was_printed_right_before_the_timeout_is_kept(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    released = threading.Event()

    class SlowlyRead(CommandOutput):
        def feed(self, chunk: bytes) -> None:
            assert released.wait(10)
            super().feed(chunk)

    def release_after_kill(root: int) -> None:
        kill_tree(root)
        loop.call_soon(released.set)

    monkeypatch.setattr(local_commands, "CommandOutput", SlowlyRead)
    monkeypatch.setattr(local_commands, "kill_tree", release_after_kill)
    run_out_of_time_when(lambda: workspace.is_ready("said"), monkeypatch)
    outcome = await workspace.commands().run("echo last words; echo yes > said; sleep 60")
    assert (outcome.output, outcome.exit_code) == ("last words\n", None)


@pytest.mark.parametrize(
    "apart",
    [
        pytest.param(False, id="same_session"),
        pytest.param(True, id="own_session", marks=needs_sessions),
    ],
)
async def test_cancelling_kills_the_tree_before_the_cancellation_goes_on(
    workspace: RealWorkspace, apart: bool
) -> None:
    command = workspace.python(STUBBORN_FAMILY.format(apart=apart))
    task = asyncio.create_task(workspace.commands().run(command))
    parent = await workspace.pid_appears("parent.pid")
    child = await workspace.pid_appears("child.pid")
    await cancel(task)
    assert is_gone(parent)
    assert is_gone(child)


async def test_a_second_cancellation_during_the_clean_up_changes_nothing(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = workspace.python(STUBBORN_FAMILY.format(apart=False))
    task = asyncio.create_task(workspace.commands().run(command))
    child = await workspace.pid_appears("child.pid")

    def cancel_again(root: int) -> None:
        task.cancel()
        kill_tree(root)
        task.cancel()

    monkeypatch.setattr(local_commands, "kill_tree", cancel_again)
    await cancel(task)
    assert is_gone(child)


INTERRUPTED_CLEAN_UP = """
    import os, signal, psutil

    pids = psutil.pids

    def impatient():
        os.kill(os.getpid(), signal.SIGINT)
        return pids()

    psutil.pids = impatient
"""


@needs_signals
@pytest.mark.parametrize(
    ("interrupts", "before"),
    [(1, ""), (3, ""), (1, INTERRUPTED_CLEAN_UP)],
    ids=["once", "three_times", "during_the_clean_up"],
)
async def test_ctrl_c_leaves_no_process_however_often_it_is_pressed(
    workspace: RealWorkspace, interrupts: int, before: str
) -> None:
    command = workspace.python(STUBBORN_FAMILY.format(apart=True))
    agent = run_agent(workspace, command, before=before)
    try:
        child = await workspace.pid_appears("child.pid")
        parent = await workspace.pid_appears("parent.pid")
        for _ in range(interrupts):
            agent.send_signal(signal.SIGINT)
        await until(lambda: agent.poll() is not None)
    finally:
        agent.kill()
        agent.communicate()
    assert is_gone(child)
    assert is_gone(parent)


@needs_posix
@pytest.mark.skipif(shutil.which("timeout") is None, reason="the program `timeout` is missing")
async def test_a_process_whose_parent_is_dead_and_that_left_the_group_dies_as_well(
    workspace: RealWorkspace,
) -> None:
    command = "(timeout 60 sh -c 'echo $$ > child.pid; sleep 60' &); sleep 60"
    task = asyncio.create_task(workspace.commands().run(command))
    child = await workspace.pid_appears("child.pid")
    await cancel(task)
    assert is_gone(child)


@needs_posix
async def test_the_whole_group_is_stopped_before_anybody_is_looked_for(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = workspace.python(STUBBORN_FAMILY.format(apart=False))
    task = asyncio.create_task(workspace.commands().run(command))
    family = [
        psutil.Process(await workspace.pid_appears(name)) for name in ("parent.pid", "child.pid")
    ]
    pids = psutil.pids
    stopped: list[bool] = []

    def look() -> list[int]:
        give_up = time.monotonic() + 2  # a process stops a moment after it was told to
        while not (done := all(process.status() == "stopped" for process in family)):
            if time.monotonic() > give_up:
                break
        stopped.append(done)
        return list(pids())

    monkeypatch.setattr(psutil, "pids", look)
    await cancel(task)
    assert stopped
    assert all(stopped)


@needs_posix
async def test_a_tree_that_never_stops_growing_is_killed(workspace: RealWorkspace) -> None:
    command = workspace.python(f"""
        import subprocess, sys, time
        if "apart" not in sys.argv:  # the group itself would be stopped at one blow
            again = [sys.executable, "-I", "-S", __file__, "apart"]
            subprocess.Popen(again, start_new_session=True)
        else:
            for _ in range(500):
                subprocess.Popen({workspace.sleep}, start_new_session=True)
        time.sleep(60)
    """)
    task = asyncio.create_task(workspace.commands().run(command))
    await until(lambda: len(workspace.sleeping()) > 20)
    await cancel(task)
    left = workspace.sleeping()
    for process in left:
        process.kill()
    assert not left


def open_descriptors() -> int:
    return int(psutil.Process().num_fds())


@needs_posix
async def test_no_descriptor_no_thread_and_no_process_stays_however_a_command_ends(
    workspace: RealWorkspace,
) -> None:
    sleep = shlex.join(workspace.sleep)
    await workspace.commands().run("echo warm up")
    before = open_descriptors()
    await workspace.commands().run("echo hello")
    await workspace.commands().run("exit 3")
    await workspace.commands(timeout=0.05).run(sleep)
    assert open_descriptors() == before
    for shell, command in [(Shell("bash", "/nowhere/bash"), "echo hello"), (None, "echo \0")]:
        with pytest.raises(ToolError):
            await workspace.commands(shell=shell).run(command)
    for _ in range(3):
        task = asyncio.create_task(workspace.commands().run(sleep))
        await asyncio.sleep(0)
        await cancel(task)
    await until(lambda: not reader_threads())
    assert open_descriptors() == before
    assert not workspace.sleeping()
