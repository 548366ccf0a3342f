"""Real commands in a real shell: what they may see, what they print, how they end."""

from __future__ import annotations

import asyncio
import os
import threading
import tracemalloc
from collections.abc import Iterator

import pytest

from chapters.ch01.dispatch import OneTool
from chapters.ch01.environment import child_environment
from chapters.ch01.local_commands import LocalCommands
from chapters.ch01.shell import shell
from chapters.ch01.tests.real_commands import (
    RealWorkspace,
    needs_posix,
    needs_raw_bytes,
    needs_signals,
    run_out_of_time_when,
    until,
)
from shared.messages import ToolResult
from shared.scripted import call
from shared.tools import call_handler

pytestmark = pytest.mark.anyio


async def test_a_command_runs_in_the_workspace(workspace: RealWorkspace) -> None:
    command = workspace.python("open('here.txt', 'w').close(); print('made it')")
    outcome = await workspace.commands().run(command)
    assert outcome.output.splitlines() == ["made it"]
    assert (outcome.exit_code, outcome.truncated, outcome.timeout) == (0, False, None)
    assert workspace.holds("here.txt")


async def test_stdout_and_stderr_come_in_the_order_in_which_they_were_printed(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python("""
        import sys
        for number in range(50):
            print("out", number, flush=True)
            print("err", number, file=sys.stderr, flush=True)
    """)
    lines = (await workspace.commands().run(command)).output.splitlines()
    assert lines == [f"{stream} {n}" for n in range(50) for stream in ("out", "err")]


async def test_a_command_that_prints_nothing_has_empty_output(workspace: RealWorkspace) -> None:
    outcome = await workspace.commands().run(workspace.python("pass"))
    assert (outcome.output, outcome.exit_code) == ("", 0)


@pytest.mark.parametrize("code", [1, 3, 42])
async def test_the_exit_code_is_that_of_the_last_program(
    workspace: RealWorkspace, code: int
) -> None:
    outcome = await workspace.commands().run(workspace.python(f"raise SystemExit({code})"))
    assert outcome.exit_code == code


@needs_signals
async def test_a_shell_that_dies_of_a_signal_has_a_negative_exit_code(
    workspace: RealWorkspace,
) -> None:
    outcome = await workspace.commands().run("echo before; kill -9 $$")
    assert (outcome.output, outcome.exit_code) == ("before\n", -9)


@needs_signals
async def test_a_child_of_the_shell_that_dies_of_a_signal_is_an_ordinary_code(
    workspace: RealWorkspace,
) -> None:
    outcome = await workspace.commands().run("sh -c 'kill -9 $$'; exit $?")
    assert outcome.exit_code == 128 + 9


@pytest.fixture
def open_input() -> Iterator[None]:
    """Our own standard input is a pipe that never ends: who inherits it waits for ever."""
    reading, writing = os.pipe()
    saved = os.dup(0)
    os.dup2(reading, 0)
    yield
    os.dup2(saved, 0)
    for descriptor in (reading, writing, saved):
        os.close(descriptor)


@pytest.mark.usefixtures("open_input")
async def test_there_is_no_input_to_wait_for(workspace: RealWorkspace) -> None:
    command = workspace.python("import sys; print(repr(sys.stdin.read()))")
    outcome = await workspace.commands(timeout=5).run(command)
    assert (outcome.output.strip(), outcome.exit_code) == ("''", 0)


@needs_posix
async def test_there_is_no_terminal_to_ask_for_a_password_on(workspace: RealWorkspace) -> None:
    outcome = await workspace.commands().run("(: < /dev/tty) 2>/dev/null || echo none")
    assert outcome.output == "none\n"


@needs_posix
async def test_a_command_may_start_with_a_dash(workspace: RealWorkspace) -> None:
    outcome = await workspace.commands().run("-x 2>/dev/null; echo went on")
    assert outcome.output == "went on\n"


@needs_raw_bytes
async def test_bytes_that_are_not_utf8_do_not_stop_the_rest(workspace: RealWorkspace) -> None:
    command = workspace.python(
        r"import sys; sys.stdout.buffer.write(b'caf\xe9 \xff\xfe\x00 ' + '你好'.encode())"
    )
    assert (await workspace.commands().run(command)).output == "caf\ufffd \ufffd\ufffd\x00 你好"


@needs_raw_bytes
async def test_a_character_on_the_border_of_two_chunks_stays_whole(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python("""
        import sys
        for byte in "你好😀".encode() * 20:
            sys.stdout.buffer.write(bytes([byte]))
            sys.stdout.buffer.flush()
        sys.stdout.buffer.write(b"x" + "你".encode() * 30_000)
    """)
    outcome = await workspace.commands().run(command)
    assert outcome.output == "你好😀" * 20 + "x" + "你" * 30_000


@needs_raw_bytes
async def test_100_megabytes_of_output_do_not_become_100_megabytes_of_memory(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python("""
        import sys
        for _ in range(100):
            sys.stdout.buffer.write(b"x" * 1_000_000)
        open("all-written", "w").close()
    """)
    tracemalloc.start()
    try:
        outcome = await workspace.commands(max_characters=1_000, timeout=30).run(command)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2_000_000
    assert (outcome.output, outcome.truncated, outcome.exit_code) == ("x" * 1_000, True, 0)
    assert workspace.holds("all-written")


async def test_output_of_exactly_the_limit_is_complete(workspace: RealWorkspace) -> None:
    command = workspace.python("import sys; sys.stdout.write('x' * 100)")
    outcome = await workspace.commands(max_characters=100).run(command)
    assert (outcome.output, outcome.truncated) == ("x" * 100, False)


async def test_a_command_sees_the_given_environment_and_no_other(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-0123456789abcdefghij"
    monkeypatch.setenv("DEMO_API_KEY", key)
    monkeypatch.setenv("DEMO_COPY", f"Bearer {key}")
    monkeypatch.setenv("DEMO_PLAIN", "plain")
    command = workspace.python("import os; print(dict(os.environ))")
    environment = child_environment(os.environ, [key])
    output = (await workspace.commands(environment=environment).run(command)).output
    assert "'DEMO_PLAIN': 'plain'" in output
    assert key not in output
    assert "DEMO_API_KEY" not in output


async def test_two_commands_run_at_the_same_time(workspace: RealWorkspace) -> None:
    def meet(mine: str, other: str) -> str:
        return workspace.python(
            f"""
            import os, time
            open({mine!r}, "w").close()
            while not os.path.exists({other!r}):
                time.sleep(0.002)
            print("met", {other!r})
            """,
            name=f"{mine}.py",
        )

    commands = workspace.commands(timeout=20)
    one, two = await asyncio.gather(
        commands.run(meet("one", "two")), commands.run(meet("two", "one"))
    )
    assert (one.output.strip(), two.output.strip()) == ("met two", "met one")


async def test_a_command_runs_from_an_event_loop_outside_the_main_thread(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python("print('hello')")
    outputs = []

    def other_thread() -> None:
        outputs.append(asyncio.run(workspace.commands().run(command)).output.strip())

    thread = threading.Thread(target=other_thread)
    thread.start()
    await until(lambda: not thread.is_alive())
    assert outputs == ["hello"]


# Through the whole tool: what the model reads


async def result_of(commands: LocalCommands, command: str) -> ToolResult:
    results: list[ToolResult] = []
    tool = OneTool((shell(commands),), call_handler)
    await tool.run([call("shell", id="call_1", command=command)], results.append, lambda _: None)
    (result,) = results
    return result


async def test_the_model_reads_that_there_was_no_output(workspace: RealWorkspace) -> None:
    result = await result_of(workspace.commands(), workspace.python("pass"))
    assert (result.text, result.code) == ("(no output)", None)


async def test_the_model_reads_that_the_output_was_cut(workspace: RealWorkspace) -> None:
    command = workspace.python("print('x' * 5_000)")
    result = await result_of(workspace.commands(max_characters=1_000), command)
    assert result.text.startswith("x" * 1_000 + "\n[output truncated]")
    assert result.code is None


async def test_the_model_reads_the_exit_code_and_the_output_of_a_failure(
    workspace: RealWorkspace,
) -> None:
    command = workspace.python("import sys; sys.stderr.write('no such thing'); sys.exit(3)")
    result = await result_of(workspace.commands(), command)
    assert result.text == ("Error [shell_failed]: The command exited with code 3.\nno such thing")
    assert result.code == "shell_failed"


@needs_posix
async def test_the_model_reads_the_output_so_far_of_a_command_that_took_too_long(
    workspace: RealWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_out_of_time_when(lambda: workspace.is_ready("said"), monkeypatch)
    command = "echo started; echo yes > said; sleep 60; echo done"
    result = await result_of(workspace.commands(), command)
    assert result.code == "shell_timeout"
    assert result.text.startswith("Error [shell_timeout]: The command was stopped after 120 sec")
    assert "started" in result.text
    assert "done" not in result.text


async def test_the_model_reads_that_nothing_was_started(workspace: RealWorkspace) -> None:
    commands = workspace.commands()
    workspace.path.rmdir()
    result = await result_of(commands, "echo hello")
    assert result.code == "shell_start_failed"
    assert str(workspace.path) not in result.text
