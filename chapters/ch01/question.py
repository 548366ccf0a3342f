"""The question before the shell: a person says yes, or the command does not run."""

from __future__ import annotations

import json
import logging

from shared.errors import ToolError
from shared.ports import Approver
from shared.text import visible
from shared.tools import Invoke, PreparedCall, Returned, ToolLayer

logger = logging.getLogger("workbook")

NAME = "shell_question"


def shell_question(approver: Approver | None) -> ToolLayer:
    """A layer that asks before every shell command. Only `y` or `yes` runs it."""

    def wrap(invoke: Invoke) -> Invoke:
        async def ask_first(prepared: PreparedCall) -> Returned:
            if prepared.tool.name == "shell" and not await agreed(approver, prepared):
                raise ToolError(
                    "permission_denied",
                    "The user did not allow this command. Do not send it again: "
                    "find another way, or ask the user what to do.",
                )
            return await invoke(prepared)

        return ask_first

    return ToolLayer(NAME, wrap)


# region: question
async def agreed(approver: Approver | None, prepared: PreparedCall) -> bool:
    """True only if somebody was asked and answered yes. Every other outcome is a no."""
    if approver is None:
        return False
    command = prepared.arguments.command
    try:
        answer = await approver.ask(question(command))
        return answer.strip().lower() in {"y", "yes"}
    except Exception:
        logger.info("no answer to the question before %s", json.dumps(command), exc_info=True)
        return False


def question(command: str) -> str:
    """The command in full. Each line is marked, so that none can pass for the prompt."""
    lines = visible(command).split("\n")
    count = "" if len(lines) == 1 else f" It has {len(lines)} lines."
    marked = "".join(f"  | {line}\n" for line in lines)
    return f"Run this command?{count}\n{marked}[y/N] "


# endregion: question
