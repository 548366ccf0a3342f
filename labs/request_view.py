"""A request as a person reads it: the tools on offer, and all messages or the new ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Request,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.picture import picture
from shared.screen import Screen, Style
from shared.text import visible

GUTTER = 11
MAX_LINES = 60  # of one message; the whole of it is one `:all` away


class RequestView:
    """Shows what a model would receive. What has been shown before is not repeated."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._seen: tuple[Message, ...] = ()
        self._shown = 0

    def show_new(self, request: Request) -> None:
        """All of the first request; of later ones, the messages that came since the last."""
        messages = tuple(request.messages)
        self._shown += 1
        if self._shown == 1:
            self._screen.rule("request 1")
            self._request(request, MAX_LINES)
        elif messages[: len(self._seen)] == self._seen:
            self._screen.rule(f"request {self._shown}: all of the last one, and")
            self._messages(messages[len(self._seen) :], MAX_LINES)
        else:
            self._screen.rule(f"request {self._shown}: the earlier messages have changed")
            self._messages(messages, MAX_LINES)
        self._seen = messages

    def show_all(self, request: Request) -> None:
        """The whole request, nothing left out."""
        self._screen.rule("the whole request")
        self._request(request, None)

    def show_schemas(self, request: Request) -> None:
        """Each tool as the model receives it: name, description and JSON Schema."""
        for spec in request.tools:
            schema = json.dumps(spec.parameters, indent=2, ensure_ascii=False)
            self._screen.labelled(
                "tool spec",
                visible(f"{spec.name}\n{spec.description}\n{schema}"),
                gutter=GUTTER,
                style=Style.CALL,
            )

    def _request(self, request: Request, max_lines: int | None) -> None:
        if request.system:
            self._piece("system", request.system, max_lines)
        for spec in request.tools:
            text = f"{spec.name}: {spec.description}\n{fields_of(spec)}"
            self._screen.labelled("tool spec", visible(text), gutter=GUTTER, style=Style.CALL)
        self._messages(request.messages, max_lines)

    def _messages(self, messages: Sequence[Message], max_lines: int | None) -> None:
        for message in messages:
            match message:
                case UserMessage(text=text, images=images):
                    self._piece("user", text, max_lines, images)
                case ToolResult(call_id=call_id, text=text, images=images):
                    self._piece("tool", f"({call_id})\n{text}", max_lines, images)
                case AssistantMessage():
                    said = [message.text] if message.text else []
                    said += [f"({call.id}) {call.name} {call.arguments}" for call in message.calls]
                    self._piece("assistant", "\n".join(said), max_lines)

    def _piece(
        self, label: str, text: str, max_lines: int | None, images: Sequence[Image] = ()
    ) -> None:
        lines = text.rstrip("\n").split("\n")
        shown = visible("\n".join(lines[:max_lines]))
        if max_lines is not None and len(lines) > max_lines:
            shown += f"\n[and {len(lines) - max_lines:,} more lines: type :all to see them]"
        shown = "\n".join(filter(None, [shown, *map(picture, images)]))
        self._screen.labelled(label, shown, gutter=GUTTER, style=Style.STRONG)


def fields_of(spec: ToolSpec) -> str:
    """The arguments of a tool, one a line: enough to call it; the schema says the rest."""
    required = spec.parameters.get("required", [])
    lines = []
    for name, schema in spec.parameters.get("properties", {}).items():
        kinds = schema.get("anyOf", [schema])
        kind = " or ".join(str(each.get("type", "any")) for each in kinds)
        need = "required" if name in required else "optional"
        about = schema.get("description", "")
        lines.append(f"  {name} ({kind}, {need}){': ' if about else ''}{about}")
    return "\n".join(lines) or "  (no arguments)"
