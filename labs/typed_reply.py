"""From what a person types to a reply of a model: lines of text, and lines that are tool calls."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shared.messages import AssistantMessage, StopReason, Text, ToolCall, ToolSpec

CALL = re.compile(r"(?P<name>[A-Za-z0-9_.-]{1,64})[ \t]*(?P<arguments>\{.*)", re.DOTALL)
WORD = re.compile(r"[A-Za-z0-9_-]+")
STRING_OR_BRACE = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|(?P<torn>\\?\Z))|[{}]', re.DOTALL)


# region: parse
def parse_reply(lines: Sequence[str], new_id: Callable[[], str]) -> AssistantMessage:
    """The reply that `lines` spell: text and calls, in the order in which they were typed.

    A call is `name {"argument": "value"}` at the beginning of a line; its JSON may go on over
    several lines. The arguments are kept as they were typed, right or wrong: checking them is the
    dispatcher's work, as for any model. A line that begins with a space is always text.
    """
    content: list[Text | ToolCall] = []
    text: list[str] = []

    def end_text() -> None:
        if any(line.strip() for line in text):
            content.append(Text("\n".join(text)))
        text.clear()

    rest = list(lines)
    while rest:
        match = CALL.fullmatch(rest[0])
        if match is None:
            text.append(rest.pop(0))
            continue
        end_text()
        count = _lines_of_call(rest)
        arguments = "\n".join([match["arguments"], *rest[1:count]]).rstrip()
        content.append(ToolCall(new_id(), match["name"], arguments))
        del rest[:count]
    end_text()
    asks = any(isinstance(part, ToolCall) for part in content)
    return AssistantMessage(tuple(content), StopReason.TOOL_USE if asks else StopReason.END_TURN)


def _lines_of_call(lines: Sequence[str]) -> int:
    """How many lines belong to the call in the first one: as many as its JSON needs."""
    call = begin_call(lines[0])
    count = 1
    while call and call.unfinished and count < len(lines) and not CALL.fullmatch(lines[count]):
        call = call.after(lines[count])
        count += 1
    return count


# endregion: parse


@dataclass(frozen=True, slots=True)
class CallSoFar:
    """How far the JSON of a call has come, known without reading its earlier lines again."""

    depth: int = 0  # braces open now, those in strings left out
    open_braces: int = 0  # the same with those in strings
    closed: bool = False
    torn: bool = False  # a line has ended inside a string, so this cannot be JSON any more

    @property
    def unfinished(self) -> bool:
        """True if the call still lacks its end."""
        # In JSON that is torn nobody knows what is a string, so all braces count.
        return not self.closed and (not self.torn or self.open_braces > 0)

    def after(self, line: str) -> CallSoFar:
        """The same call with one more line."""
        depth, closed, torn = self.depth, self.closed, self.torn
        for token in STRING_OR_BRACE.finditer(line):
            if token.lastgroup == "torn":
                torn = True
            elif token[0] in "{}" and not closed:
                depth += 1 if token[0] == "{" else -1
                closed = depth == 0 and not torn
        open_braces = self.open_braces + line.count("{") - line.count("}")
        return CallSoFar(depth, open_braces, closed, torn)


def begin_call(line: str) -> CallSoFar | None:
    """The call that `line` begins, if it begins one."""
    match = CALL.fullmatch(line)
    return CallSoFar().after(match["arguments"]) if match else None


class Draft:
    """The lines of a reply as they are typed; the last one can be taken back."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._calls: list[CallSoFar | None] = []  # after each line

    @property
    def in_call(self) -> bool:
        """True if the last call typed still lacks its end."""
        call = self._calls[-1] if self._calls else None
        return call is not None and call.unfinished

    def add(self, line: str) -> None:
        """One more line."""
        call = begin_call(line)
        if call is None and self.in_call and (last := self._calls[-1]):
            call = last.after(line)
        self.lines.append(line)
        self._calls.append(call)

    def take_back(self) -> str:
        """The last line, which is no longer part of the reply."""
        self._calls.pop()
        return self.lines.pop()


def forgotten_braces(line: str, names: Collection[str]) -> str | None:
    """The tool that a line of text names as if to call it, without the JSON a call needs."""
    word = WORD.match(line)
    if word is None or word[0] not in names or CALL.fullmatch(line):
        return None
    return word[0]


def example_call(spec: ToolSpec) -> str:
    """A call of a tool with its required arguments, as it would be typed."""
    properties: Mapping[str, Any] = spec.parameters.get("properties", {})
    required = spec.parameters.get("required", list(properties))
    values = {name: _example(properties.get(name, {})) for name in required}
    return f"{spec.name} {json.dumps(values, ensure_ascii=False)}"


def _example(schema: Mapping[str, Any]) -> object:
    by_type: dict[str, object] = {"integer": 1, "number": 1, "boolean": True, "array": []}
    return by_type.get(str(schema.get("type")), "…")
