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
    """A piece of what the model says to a person.

    A `signature`, here and below, is what the provider that wrote the piece wants to see again
    with it. It goes back to that provider as it came, and means nothing to anybody else.
    """

    text: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Thinking:
    """What the model thought on the way: for its own provider, and not part of what it said.

    `redacted` thinking has no readable text; all of it is in the signature.
    """

    text: str
    signature: str = ""
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """The model asks for one tool. A request, never an execution.

    `arguments` is the raw JSON text exactly as the model wrote it. It is parsed in one place only,
    by the dispatcher, after the reply has ended.
    """

    id: str
    name: str
    arguments: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A picture: its media type, such as `image/png`, and its bytes in base64."""

    media_type: str
    data: str


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
    """What a reply cost, in tokens as the provider counted them.

    `input_tokens` is everything that was read, `output_tokens` everything that was written. The
    others are parts of these two, so they are never added to them: `cached_tokens` were read from a
    cache, `cache_write_tokens` were put into one, `reasoning_tokens` were spent on thinking.
    """

    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
        )


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a reply: through which API, at which provider, which model."""

    api: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What a person, or the program on a person's behalf, says: text, or text and pictures."""

    content: str | tuple[Text | Image, ...]

    @property
    def text(self) -> str:
        """All the text of the message, joined; the pictures are left out."""
        if isinstance(self.content, str):
            return self.content
        return "".join([part.text for part in self.content if isinstance(part, Text)])

    @property
    def images(self) -> tuple[Image, ...]:
        """The pictures of the message, in order."""
        if isinstance(self.content, str):
            return ()
        return tuple([part for part in self.content if isinstance(part, Image)])


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One reply of the model: text, thinking and tool calls, in the order in which they came.

    `origin` is None for a reply that no provider wrote.
    """

    content: tuple[Text | Thinking | ToolCall, ...]
    stop: StopReason = StopReason.END_TURN
    finish: str = ""
    usage: Usage | None = None
    origin: Origin | None = None

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
    images: tuple[Image, ...] = ()

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
