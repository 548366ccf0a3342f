"""The offline model: it says what a script tells it to say, and checks what it is told.

A script is a list. Each entry answers one request: a reply, or a function of the request that
returns one, so that a script can react to what a tool really returned.

    model = ScriptedModel([
        says(call("shell", command="ls")),
        lambda request: says(f"I see {last_result(request).text}"),
    ])
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from shared.events import Emit
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

Reply = AssistantMessage | Callable[[Request], AssistantMessage]


class ScriptError(AssertionError):
    """The conversation did not go as the script says."""


class ScriptedModel:
    """A model whose replies are written down beforehand.

    Checks that every request it receives is a whole history, keeps it in `requests`, and gives
    calls without an id the ids `call_1`, `call_2`, ... As a context manager it raises ScriptError
    at the end if replies are left over.
    """

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = list(replies)
        self._calls = 0
        self.requests: list[Request] = []

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The next reply of the script. Raises ScriptError if there is none."""
        History(request.messages).check_ready()
        position = len(self.requests)
        self.requests.append(request)
        if position >= len(self._replies):
            raise ScriptError(
                f"request {position + 1} came, but the script has {len(self._replies)} replies"
            )
        entry = self._replies[position]
        reply = entry if isinstance(entry, AssistantMessage) else entry(request)
        return self._with_ids(reply)

    @property
    def left_over(self) -> int:
        """How many replies of the script were not asked for."""
        return max(0, len(self._replies) - len(self.requests))

    def check_done(self) -> None:
        """Raise ScriptError if replies are left over."""
        if self.left_over:
            raise ScriptError(f"{self.left_over} replies of the script were never asked for")

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.check_done()

    def _with_ids(self, reply: AssistantMessage) -> AssistantMessage:
        content: list[Text | Thinking | ToolCall] = []
        for part in reply.content:
            if isinstance(part, ToolCall):
                self._calls += 1
                if not part.id:
                    part = replace(part, id=f"call_{self._calls}")
            content.append(part)
        return replace(reply, content=tuple(content))


def call(name: str, *, id: str = "", **arguments: Any) -> ToolCall:  # noqa: A002
    """A tool call as a model would write it: the arguments become JSON text."""
    return ToolCall(id, name, json.dumps(arguments, ensure_ascii=False))


def says(*parts: str | ToolCall, stop: StopReason | None = None) -> AssistantMessage:
    """A reply of text and calls. It ends as such a reply does, unless `stop` says otherwise."""
    content = tuple(Text(part) if isinstance(part, str) else part for part in parts)
    if stop is None:
        asks = any(isinstance(part, ToolCall) for part in content)
        stop = StopReason.TOOL_USE if asks else StopReason.END_TURN
    return AssistantMessage(content, stop)


def last_result(request: Request) -> ToolResult:
    """The newest tool result of a request."""
    for message in reversed(request.messages):
        if isinstance(message, ToolResult):
            return message
    raise ScriptError("the request holds no tool result yet")


def last_prompt(request: Request) -> UserMessage:
    """The newest message of the user in a request."""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return message
    raise ScriptError("the request holds no user message")
