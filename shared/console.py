"""The console: a listener that turns the events of a run into a transcript a person can read."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from shared.errors import WorkbookError
from shared.events import (
    Event,
    MessageAdded,
    RunEnded,
    RunStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from shared.picture import picture
from shared.screen import Screen, Style
from shared.text import one_line, shorten, visible

MAX_LINES = 12  # of a result; the model sees all of it
MAX_CHARACTERS = 1_200
MAX_ARGUMENTS = 600
MAX_NAME = 100  # of a tool, or of the id of a call


class Console:
    """Writes what happens, as it happens, to a text stream.

    `outcome=False` leaves out the final answer and the error a run ends with, for a program that
    shows them itself. Nothing that a model, a tool or a file says can act on the terminal.
    """

    def __init__(
        self, stream: TextIO, *, outcome: bool = True, environ: Mapping[str, str] = os.environ
    ) -> None:
        self._screen = Screen(stream, environ)
        self._outcome = outcome
        self._turns = 0
        self._usage: Usage | None = None
        self._not_shown: dict[str, ToolCall] = {}
        self._without_result: set[str] = set()
        self._last_call = ""

    def __call__(self, event: Event) -> None:
        """Show one event. Kinds it does not know are left to other listeners."""
        match event:
            case RunStarted():
                self._turns, self._usage = 0, None
            case TurnStarted(turn=turn):
                self._turns = turn
                self._screen.rule(f"turn {turn}")
            case MessageAdded(message=message):
                self._message(message)
            case ToolStarted(call=call):
                self._call(call)
            case ToolFinished(result=result):
                self._result(result)
            case RunEnded(error=error):
                self._end(error)
            case _:
                pass

    def _message(self, message: Message) -> None:
        match message:
            case UserMessage(text=text, images=images):
                said = _with_pictures(_brief(text), images)
                self._screen.labelled("user", said, style=Style.STRONG)
            case AssistantMessage():
                self._reply(message)
            case ToolResult(call_id=call_id) if call_id in self._without_result:
                # Answered without having been run: the reply was cut off, or the run stopped here.
                if call_id in self._not_shown:
                    self._call(self._not_shown[call_id])
                self._result(message)

    def _reply(self, reply: AssistantMessage) -> None:
        self._not_shown = {call.id: call for call in reply.calls}
        self._without_result = set(self._not_shown)
        if reply.usage is not None:
            self._usage = self._usage + reply.usage if self._usage else reply.usage
        if reply.text.strip() and (reply.calls or self._outcome):
            self._screen.labelled("model", visible(reply.text.strip("\n")), style=Style.STRONG)

    def _call(self, call: ToolCall) -> None:
        self._not_shown.pop(call.id, None)
        self._last_call = call.id
        arguments = visible(shorten(call.arguments, MAX_ARGUMENTS))
        self._screen.labelled("call", f"{_name(call.name)} {arguments}", style=Style.CALL)

    def _result(self, result: ToolResult) -> None:
        self._without_result.discard(result.call_id)
        label, style = ("failed", Style.BAD) if result.code else ("result", Style.GOOD)
        text = _with_pictures(_brief(result.text), result.images)
        if result.call_id != self._last_call:  # calls that ran side by side
            text = f"(of {_name(result.name)}, {_name(result.call_id)})\n{text}"
        self._screen.labelled(label, text, style=style)

    def _end(self, error: BaseException | None) -> None:
        if error is not None and self._outcome:
            what = str(error) if isinstance(error, WorkbookError) else type(error).__name__
            self._screen.labelled("stopped", visible(what), style=Style.BAD)
        if self._turns:
            spent = "1 turn" if self._turns == 1 else f"{self._turns} turns"
            if self._usage:
                spent += f", {_tokens(self._usage)}"
            self._screen.rule(spent)


def _name(name: str) -> str:
    return one_line(shorten(name, MAX_NAME))


def _tokens(usage: Usage) -> str:
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    return f"{usage.input_tokens:,} tokens sent{cached}, {usage.output_tokens:,} received"


def _with_pictures(text: str, images: Sequence[Image]) -> str:
    return "\n".join(filter(None, [text, *map(picture, images)]))


def _brief(text: str) -> str:
    """The beginning of `text`, made visible, and what was left out."""
    lines = text.rstrip("\n").split("\n")
    shown = "\n".join(lines[:MAX_LINES])
    left_out = len(lines) - MAX_LINES
    if len(shown) > MAX_CHARACTERS:
        return visible(shorten(shown, MAX_CHARACTERS)) + f"\n[of {len(text):,} characters in all]"
    if left_out > 0:
        return f"{visible(shown)}\n[and {left_out:,} more lines that are not shown here]"
    return visible(shown)
