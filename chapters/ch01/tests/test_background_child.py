"""A child left in the background: it lives on, and nobody waits for it."""

from __future__ import annotations

import asyncio

import pytest

from chapters.ch01 import local_commands
from chapters.ch01.tests.real_commands import (
    RealWorkspace,
    needs_posix,
    reader_threads,
    run_agent,
    until,
)

pytestmark = pytest.mark.anyio

LEAVES_A_CHILD = """
    import os, subprocess, sys, time

    if "child" not in sys.argv:
        subprocess.Popen([sys.executable, "-I", "-S", __file__, "child"])
        print("parent is done", flush=True)
        raise SystemExit(5)
    with open("child.pid", "w") as file:
        print(os.getpid(), file=file)
    give_up = time.monotonic() + 30
    while not os.path.exists("go") and time.monotonic() < give_up:
        {meanwhile}
    for _ in range(100):
        print("x" * 10_000, flush=True)
    open("survived", "w").close()
"""


async def test_a_background_child_that_holds_the_pipe_does_not_hold_the_tool(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python(LEAVES_A_CHILD.format(meanwhile="time.sleep(0.002)"))
    async with asyncio.timeout(10):
        outcome = await workspace.commands(timeout=60).run(command)
    assert (outcome.output.strip(), outcome.exit_code) == ("parent is done", 5)
    (workspace.path / "go").touch()  # it can print more than a pipe holds: somebody still reads
    await until(lambda: workspace.holds("survived"))
    await until(lambda: not reader_threads())


async def test_a_background_child_that_never_falls_silent_does_not_hold_it_either(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_commands, "LINGER", 0.3)
    command = workspace.python(
        LEAVES_A_CHILD.format(meanwhile="print('noise', flush=True); time.sleep(0.002)")
    )
    async with asyncio.timeout(10):
        outcome = await workspace.commands(timeout=60).run(command)
    assert outcome.exit_code == 5
    assert "parent is done" in outcome.output
    (workspace.path / "go").touch()
    await until(lambda: workspace.holds("survived"))


@needs_posix
async def test_what_a_background_child_prints_right_after_its_shell_ended_is_kept(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seconds in ("QUIET", "LINGER"):  # more than a slow machine needs; the child ends it sooner
        monkeypatch.setattr(local_commands, seconds, 10)
    outcome = await workspace.commands().run("(sleep 0.05; echo late) & echo early")
    assert outcome.output == "early\nlate\n"


async def test_a_background_child_does_not_keep_the_interpreter_from_exiting(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python(LEAVES_A_CHILD.format(meanwhile="time.sleep(0.002)"))
    agent = run_agent(workspace, command)
    output, _ = agent.communicate(timeout=10)
    assert (agent.returncode, output.strip()) == (0, "parent is done")
