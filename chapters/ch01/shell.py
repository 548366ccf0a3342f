"""The shell tool: what the model sees, how its arguments are checked, what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import ToolError
from shared.messages import ToolSpec
from shared.ports import CommandOutcome, CommandRunner
from shared.tools import Effect, Tool

# region: spec
SPEC = ToolSpec(
    name="shell",
    description=(
        "Run a command line in the workspace, in bash or sh (on Windows in PowerShell), and return "
        "what it prints (stdout and stderr). "
        "There is no input and no terminal; every call starts in the workspace again. "
        "Fails if the command exits with another code than 0 or takes too long."
    ),
    parameters={
        "type": "object",
        "properties": {
            "command": {
                "type": "string",
                "minLength": 1,
                "description": "The command line, as you would type it.",
            }
        },
        "required": ["command"],
        "additionalProperties": False,
    },
)
# endregion: spec


# region: validate
@dataclass(frozen=True, slots=True)
class ShellArguments:
    """The checked arguments of one shell call."""

    command: str


def validate(arguments: Mapping[str, Any]) -> ShellArguments:
    """The arguments, if they are exactly what the schema promises; ToolError otherwise."""
    unknown = sorted(set(arguments) - {"command"})
    missing = "" if "command" in arguments else " command: missing."
    if unknown:
        raise ToolError(
            "invalid_arguments", f"{unknown[0]}: unknown field. Send only `command`.{missing}"
        )
    if missing:
        raise ToolError("invalid_arguments", missing.strip())
    command = arguments["command"]
    if not isinstance(command, str):
        raise ToolError("invalid_arguments", "command: must be a string.")
    if not command.strip():
        raise ToolError("invalid_arguments", "command: must not be empty.")
    if "\0" in command:
        raise ToolError("invalid_arguments", "command: must not contain a NUL character.")
    return ShellArguments(command)


# endregion: validate


# region: tool
def shell(commands: CommandRunner) -> Tool:
    """The shell as a tool, running its commands through `commands`."""

    async def handler(arguments: ShellArguments) -> str:
        return describe(await commands.run(arguments.command))

    return Tool(SPEC, Effect.EXECUTE, validate, handler)


def describe(outcome: CommandOutcome) -> str:
    """What the model reads of an outcome; ToolError if the command did not end with code 0."""
    output = outcome.output if outcome.output.strip() else "(no output)"
    if outcome.truncated:
        output += (
            "\n[output truncated]"
            f" The first {len(outcome.output):,} characters are shown."
            " Print less, or send the output to a file and read a part of it."
        )
    if outcome.exit_code == 0:
        return output
    if outcome.exit_code is None:
        raise ToolError(
            "shell_timeout",
            f"The command was stopped after {outcome.timeout:g} seconds. Run something shorter, or "
            f"a part of it. Output so far:\n{output}",
        )
    if outcome.exit_code < 0:
        raise ToolError(
            "shell_failed", f"The command was ended by signal {-outcome.exit_code}.\n{output}"
        )
    raise ToolError("shell_failed", f"The command exited with code {outcome.exit_code}.\n{output}")


# endregion: tool
