"""`--model human`: you are the model. You see what a model would receive, and you answer.

What you type becomes a reply like any other: the loop, the dispatcher and the tools cannot tell
the difference, so a mistake comes back as the very result a model would read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from labs.line_reader import LineReader
from labs.request_view import RequestView
from labs.typed_reply import Draft, example_call, forgotten_braces, parse_reply
from shared.errors import RunError
from shared.events import Emit
from shared.messages import AssistantMessage, Request, ToolSpec
from shared.screen import Screen, Style
from shared.text import visible

HOW_TO = """\
A program has sent you this request, as it would send it to a model. Reply:
  Text is text. A reply of nothing but text is the final answer.
  A call is a line with a tool's name and JSON. Several lines, several calls:
      {example}
  An empty line sends the reply. If a call is wrong, you will read why.
  :help  :tools (their JSON Schema)  :all (the whole request)
  :json (the request on the wire)  :undo (the last line)  :quit"""

ToWire = Callable[[Request], Mapping[str, Any]]


class HumanLeft(RunError):
    """The person who was the model has left, so there will be no reply."""


class HumanModel:
    """A model that shows each request on `screen` and takes its reply from `lines`.

    `to_wire` gives the JSON of a request, for `:json`. Raises HumanLeft at the end of the input.
    """

    def __init__(self, lines: LineReader, screen: Screen, to_wire: ToWire) -> None:
        self._lines = lines
        self._screen = screen
        self._to_wire = to_wire
        self._view = RequestView(screen)
        self._welcomed = False
        self._calls = 0

    # region: reply
    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """What the person types, up to an empty line."""
        if not self._welcomed:
            self._help(request)
            self._welcomed = True
        self._view.show_new(request)
        return parse_reply(await self._read(request), self._new_id)

    async def _read(self, request: Request) -> list[str]:
        typed = Draft()
        self._screen.rule("your reply (an empty line sends it)")
        while True:
            line = await self._read_line("... " if typed.in_call else "> ")
            if line is None and not typed.lines:
                raise HumanLeft("The input has ended, so there is no reply.")
            if not line:
                if any(text.strip() for text in typed.lines):
                    return typed.lines
            elif line.startswith(":"):
                self._obey(line.strip(), typed, request)
            elif tool := self._named_without_json(line, typed, request):
                self._say(
                    f"Not taken: a call needs JSON, as in  {example_call(tool)}\n"
                    "(To say this as text, begin the line with a space.)"
                )
            else:
                typed.add(line)

    # endregion: reply

    async def _read_line(self, prompt: str) -> str | None:
        self._screen.write(self._screen.paint(prompt, Style.STRONG))
        line = await self._lines.read_line()
        if line is None:
            self._screen.line()
        elif not self._lines.is_terminal:  # what comes through a pipe, nobody has seen yet
            self._screen.line(visible(line))
        return line

    def _obey(self, command: str, typed: Draft, request: Request) -> None:
        match command:
            case ":help":
                self._help(request)
            case ":tools":
                self._view.show_schemas(request)
            case ":all":
                self._view.show_all(request)
            case ":json":
                body = json.dumps(self._to_wire(request), indent=2, ensure_ascii=False)
                self._screen.line(visible(body))
            case ":undo":
                taken = f"Taken back: {typed.take_back()}" if typed.lines else None
                self._say(taken or "Nothing is typed yet.")
            case ":quit":
                raise HumanLeft("You left, so there is no reply.")
            case _:
                self._say(f"There is no {command}. Type :help for what there is.")

    def _named_without_json(self, line: str, typed: Draft, request: Request) -> ToolSpec | None:
        specs = {} if typed.in_call else {spec.name: spec for spec in request.tools}
        name = forgotten_braces(line, specs)
        return specs[name] if name else None

    def _help(self, request: Request) -> None:
        self._screen.rule("you are the model")
        example = example_call(request.tools[0]) if request.tools else 'name {"argument": "value"}'
        self._screen.line(HOW_TO.format(example=example))

    def _say(self, text: str) -> None:
        self._screen.line(visible(text), Style.ASIDE)

    def _new_id(self) -> str:
        self._calls += 1
        return f"call_{self._calls}"
