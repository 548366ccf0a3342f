"""Three strikes: a run ends when the model keeps sending a call that keeps failing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile

from chapters import ch01
from chapters.ch01.dispatch import parse_arguments
from shared.errors import RunError, ToolError
from shared.events import Emit
from shared.messages import AssistantMessage, Message, Request, ToolCall, ToolResult, UserMessage
from shared.plan import Kit, Plan
from shared.ports import Model, ModelLayer

STRIKES = 3


class SameCallFailed(RunError):
    """The model sent the same call again and again, and it failed each time."""

    def __init__(self, call: ToolCall, result: ToolResult) -> None:
        super().__init__(
            f"Stopped: the same call of {call.name!r} failed {STRIKES} times in a row, "
            f"at last with [{result.code}]. Remove what is in its way, or give another task."
        )
        self.call = call
        self.result = result


def fingerprint(call: ToolCall) -> str:
    """A text that two calls share if, and only if, their names and arguments are the same."""
    # solution: One spelling for all texts of the same JSON object; any other text stays as it is.
    try:
        arguments = json.dumps(parse_arguments(call.arguments), sort_keys=True)
    except (ToolError, RecursionError):
        arguments = call.arguments
    return json.dumps([call.name, arguments])
    # end solution


def plan(kit: Kit) -> Plan:
    """Chapter 1's agent, which gives up when a call fails for the third time in a row."""
    # solution: Choose the place that sees every result and may end a run; plug in there.
    return ch01.plan(kit).with_model_layer(ModelLayer("three_strikes", ThreeStrikes))


class ThreeStrikes:
    """A model that is not asked in vain: it looks at the results before it passes a request on.

    It keeps no count of its own. The history knows what happened, also of calls that never
    reached a tool, and also when a conversation is continued tomorrow.
    """

    def __init__(self, model: Model) -> None:
        self._model = model

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The inner model's reply. Raises SameCallFailed after three strikes."""
        check_strikes(since_the_prompt(request.messages))
        return await self._model.reply(request, emit)


def since_the_prompt(messages: Sequence[Message]) -> list[Message]:
    """What came after the last user message: whoever speaks to the model gives it a new start."""
    recent = takewhile(lambda message: not isinstance(message, UserMessage), reversed(messages))
    return list(recent)[::-1]


def check_strikes(messages: Sequence[Message]) -> None:
    """Raise SameCallFailed if one call failed three times with nothing else in between."""
    calls: dict[str, ToolCall] = {}
    last, strikes = "", 0
    for message in messages:
        if isinstance(message, AssistantMessage):
            calls = {call.id: call for call in message.calls}
        elif isinstance(message, ToolResult) and message.code is None:
            last, strikes = "", 0
        elif isinstance(message, ToolResult):
            call = calls[message.call_id]
            key = fingerprint(call)
            last, strikes = key, strikes + 1 if key == last else 1
            if strikes == STRIKES:
                raise SameCallFailed(call, message)
    # end solution
