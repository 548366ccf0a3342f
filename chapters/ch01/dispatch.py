"""From a tool call to a tool result: parse, validate, run, and make a failure into data."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NoReturn

from shared.errors import ToolError
from shared.events import Emit, ToolFinished, ToolStarted
from shared.messages import ToolCall, ToolResult, ToolSpec
from shared.tools import Invoke, Output, PreparedCall, Returned, Tool

logger = logging.getLogger("workbook")

LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """A number that is too large for a float would be read as Infinity."""
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text[:40]} is too large for a number")
    return number


JSON = json.JSONDecoder(parse_constant=_refuse_constant)  # NaN and Infinity are not JSON
FOR_A_TOOL = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)

# No tool wants more. What can be read can then also be written, at any place of the program.
MAX_LEVELS = 200


# region: parse
def parse_arguments(text: str, decoder: json.JSONDecoder = JSON) -> dict[str, Any]:
    """The arguments of a call as a JSON object; empty text means no arguments.

    Some servers encode them twice: a string that holds an object is that object. Raises ToolError:
    `invalid_json` for text that is not JSON (the reason and the place), `invalid_arguments` for
    JSON that is not an object.
    """
    text = unwrapped(text)
    if not text.strip():
        return {}
    try:
        arguments = decoder.decode(text)
        if too_deep(arguments, text):
            raise RecursionError
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deeply"
        raise ToolError("invalid_json", f"The arguments are not valid JSON: {reason}.") from None
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        kind = type(arguments).__name__
        raise ToolError("invalid_arguments", f"Expected a JSON object, got {kind}.")
    return _without_lone_surrogates(arguments, text)


# endregion: parse


def unwrapped(text: str) -> str:
    """The text of an object that was encoded twice, decoded once; any other text as it is."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        inside = JSON.decode(text)
        return inside if isinstance(JSON.decode(inside), dict) else text
    except (ValueError, RecursionError):
        return text


def too_deep(value: object, text: str) -> bool:
    """Whether the value of a JSON text has more levels of lists and objects than MAX_LEVELS."""
    if text.count("[") + text.count("{") <= MAX_LEVELS:
        return False
    level: list[object] = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: Any) -> Iterable[object]:
    """The lists and objects right in a list or an object."""
    inner = value.values() if isinstance(value, dict) else value
    return [each for each in inner if isinstance(each, (dict, list))]


def _without_lone_surrogates(arguments: dict[str, Any], text: str) -> dict[str, Any]:
    """Half a surrogate pair cannot be encoded: not for a file, a log or the next request."""
    if "\\u" not in text and not LONE_SURROGATE.search(text):
        return arguments
    as_text = json.dumps(arguments, ensure_ascii=False)
    if not LONE_SURROGATE.search(as_text):
        return arguments
    cleaned: dict[str, Any] = json.loads(LONE_SURROGATE.sub("\ufffd", as_text))
    return cleaned


# region: prepare
def prepare(tool: Tool, call: ToolCall) -> PreparedCall:
    """Parse and validate a call. Has no side effect; raises ToolError if the call cannot run."""
    return PreparedCall(tool, call, tool.validate(parse_arguments(call.arguments, FOR_A_TOOL)))


async def settle(call: ToolCall, attempt: Awaitable[Returned]) -> ToolResult:
    """Await `attempt` and make whatever happens the result of `call`: failure is data.

    An exception nobody expected becomes `tool_execution_error` without its text, which may hold
    secrets or paths; the text goes to the log.
    """
    try:
        returned = await attempt
    except ToolError as error:
        return ToolResult.failure(call, error.code, error.message)
    except Exception:
        logger.exception("tool %r crashed", call.name)
        return ToolResult.failure(
            call, "tool_execution_error", "The tool crashed. Try another way, or tell the user."
        )
    output = Output(returned) if isinstance(returned, str) else returned
    if not isinstance(output, Output) or not isinstance(output.text, str):
        logger.error("tool %r returned %s, not text", call.name, type(returned).__name__)
        return ToolResult.failure(
            call, "invalid_tool_result", "The tool ran but returned something unreadable."
        )
    return ToolResult(call.id, call.name, output.text, images=output.images)


# endregion: prepare


# region: in_order
async def run_in_order(
    calls: Sequence[ToolCall],
    attempt: Callable[[ToolCall], Awaitable[Returned]],
    answer: Callable[[ToolResult], None],
    emit: Emit,
) -> None:
    """Settle the calls one after another; each is answered before the next one starts."""
    for call in calls:
        emit(ToolStarted(call))
        result = await settle(call, attempt(call))
        emit(ToolFinished(call, result))
        answer(result)


# endregion: in_order


# region: one_tool
class OneTool:
    """The dispatcher of an agent that has a single tool."""

    def __init__(self, tools: tuple[Tool, ...], invoke: Invoke) -> None:
        (self._tool,) = tools
        self._invoke = invoke
        self.specs: tuple[ToolSpec, ...] = (self._tool.spec,)

    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        """Answer every call, in order."""
        await run_in_order(calls, self._attempt, answer, emit)

    async def _attempt(self, call: ToolCall) -> Returned:
        if call.name != self._tool.name:
            raise unknown_tool(call, [self._tool.name])
        return await self._invoke(prepare(self._tool, call))


# endregion: one_tool


def unknown_tool(call: ToolCall, names: Sequence[str]) -> ToolError:
    """The error for a call to a tool that was not offered."""
    return ToolError(
        "unknown_tool", f"There is no tool {call.name!r}. The tools are: {', '.join(names)}."
    )
