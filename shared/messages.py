"""The messages a conversation is made of, and what a model is told about a tool.

Everything here is frozen: once said, a message does not change. No provider's own object appears
anywhere else than in that provider's adapter; these are the only words the workbook speaks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of what the model says to a person."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for one tool. A request, never an execution.

    `arguments` is the raw JSON text exactly as the model wrote it. It is parsed in one place only,
    by the dispatcher, after the reply has ended.
    """

    id: str
    name: str
    arguments: str


class StopReason(StrEnum):
    """Why a reply ended, in our words; `AssistantMessage.finish` keeps the provider's."""

    END_TURN = "end_turn"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"
    CONTENT_FILTER = "content_filter"
    MISSING = "missing"
    UNKNOWN = "unknown"


FINISHED = frozenset({StopReason.END_TURN, StopReason.TOOL_USE})
"""The reasons of a reply that is whole. Nothing runs from any other."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost, in tokens as the provider counted them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person, or the program on a person's behalf, says."""

    text: str


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of the model: text and tool calls, in the order in which they came."""

    content: tuple[Text | ToolCall, ...]
    stop: StopReason = StopReason.END_TURN
    finish: str = ""
    usage: Usage | None = None

    @property
    def text(self) -> str:
        """All the text of the reply, joined; empty if it holds only calls."""
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the reply, in order."""
        return tuple([part for part in self.content if isinstance(part, ToolCall)])


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one tool call. `code` is set if and only if it is a failure."""

    call_id: str
    name: str
    text: str
    code: str | None = None

    @classmethod
    def failure(cls, call: ToolCall, code: str, message: str) -> ToolResult:
        """A failure as data: the model reads `Error [code]: message` and can react to it."""
        return cls(call.id, call.name, f"Error [{code}]: {message}", code)


Message = UserMessage | AssistantMessage | ToolResult


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """All that a model sees of a tool. `parameters` is a JSON Schema whose root is an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent to a model: the messages so far, the tools on offer, the system prompt."""

    messages: Sequence[Message]
    tools: tuple[ToolSpec, ...] = ()
    system: str = ""
