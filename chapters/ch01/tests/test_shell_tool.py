"""The shell tool: what the model reads of an outcome."""

from __future__ import annotations

import pytest

from chapters.ch01.shell import SPEC, describe, shell, validate
from shared.errors import ToolError
from shared.ports import CommandOutcome
from shared.testing import FakeCommands
from shared.tools import Effect

pytestmark = pytest.mark.anyio


async def test_output_of_a_command_that_ends_well_is_returned_as_it_is() -> None:
    assert describe(CommandOutcome("a\n b\n", 0)) == "a\n b\n"


@pytest.mark.parametrize("output", ["", "\n", "  \r\n"])
async def test_no_output_is_said(output: str) -> None:
    assert describe(CommandOutcome(output, 0)) == "(no output)"


async def test_output_that_was_cut_says_so_and_how_to_get_the_rest() -> None:
    text = describe(CommandOutcome("x" * 100, 0, truncated=True))
    assert text.startswith("x" * 100 + "\n[output truncated]")
    assert "send the output to a file" in text


@pytest.mark.parametrize(
    ("outcome", "code", "text"),
    [
        (CommandOutcome("bad flag\n", 2), "shell_failed", "exited with code 2.\nbad flag"),
        (CommandOutcome("", 1), "shell_failed", "exited with code 1.\n(no output)"),
        (CommandOutcome("par", -9), "shell_failed", "ended by signal 9.\npar"),
        (CommandOutcome("tick\n", None, timeout=120), "shell_timeout", "after 120 seconds"),
        (CommandOutcome("tick\n", None, timeout=0.5), "shell_timeout", "0.5 seconds"),
    ],
)
async def test_a_command_that_fails_is_a_failure_with_its_output(
    outcome: CommandOutcome, code: str, text: str
) -> None:
    with pytest.raises(ToolError) as caught:
        describe(outcome)
    assert caught.value.code == code
    assert text in caught.value.message
    assert (outcome.output or "(no output)") in caught.value.message


async def test_the_handler_runs_exactly_the_command_that_was_checked() -> None:
    commands = FakeCommands()
    tool = shell(commands)
    await tool.handler(tool.validate({"command": "  ls  "}))
    assert commands.commands == ["  ls  "]


async def test_the_schema_says_what_the_check_does() -> None:
    """Two texts that must agree; chapter 2 makes them one."""
    assert SPEC.parameters["required"] == ["command"]
    assert SPEC.parameters["additionalProperties"] is False
    assert list(SPEC.parameters["properties"]) == ["command"]
    assert validate({"command": "ls"}).command == "ls"


async def test_the_shell_can_do_anything_and_is_marked_so() -> None:
    assert shell(FakeCommands()).effect is Effect.EXECUTE
