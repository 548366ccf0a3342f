"""The console for replies that arrive in pieces: it shows them while they arrive."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TextIO

from shared.arriving import Arriving
from shared.console import Console
from shared.events import (
    Event,
    MessageAdded,
    ReplyEnded,
    ReplyStarted,
    RetryScheduled,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
    TurnStarted,
)
from shared.live_text import LiveText
from shared.messages import AssistantMessage, Text
from shared.ports import Clock
from shared.screen import Screen, Style
from shared.status_line import StatusLine
from shared.text import visible
from shared.waiting import (
    About,
    amount,
    for_more,
    for_the_first_word,
    reason,
    to_try_again,
    with_seconds,
)

TICK = 0.1  # seconds from one drawing of the status line to the next
STALLED = 2.0  # seconds without a word after which a text is said to be waited for


# region: console
class LiveConsole:
    """Writes what happens, as it happens, to a text stream, as `Console` does.

    On a terminal the text of a reply appears while it comes, and a last line says what is waited
    for; that line needs `running`. Elsewhere there are only whole lines: those of `Console`, and
    what went wrong with a reply.
    """

    def __init__(
        self,
        stream: TextIO,
        clock: Clock,
        *,
        outcome: bool = True,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._console = Console(stream, outcome=outcome, environ=environ)
        self._screen = Screen(stream, environ)
        self._clock = clock
        self._live = self._screen.moves
        self._status = StatusLine(self._screen)
        self._arriving = Arriving()
        self._text: LiveText | None = None
        self._waiting: tuple[str, About] | None = None
        self._thinking = False
        self._since = clock.now()
        self._shown = False

    @property
    def has_shown_the_reply(self) -> bool:
        """Whether all the text of the last reply can be read on this terminal already."""
        return self._shown

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While this lasts there is a line that says what is waited for. Afterwards it is gone."""
        if not self._live:
            yield
            return
        ticker = asyncio.create_task(self._tick_on())
        try:
            yield
        finally:
            ticker.cancel()
            self._leave()
            await asyncio.wait([ticker])

    def __call__(self, event: Event) -> None:
        """Show one event."""
        match event:
            case TextDelta(text=text):
                self._said(text)
            case ToolCallDelta(part=part, arguments=arguments):
                self._arriving.grow_call(part, len(arguments))
            case ThinkingDelta(text=text):
                self._arriving.thought += len(text)
            case TextEnded() if self._text is not None:
                self._wait("wait", for_more)
            case TextStarted() | TextEnded():
                pass  # nothing to see yet, or something else came in between
            case ToolCallStarted(part=part, name=name):
                self._arriving.begin_call(part, name)
                self._end_thought()
                self._wait("call", lambda _: self._arriving.call_so_far())
            case ToolCallEnded(part=part, call=call):
                self._arriving.end_call(part, call.name, len(call.arguments))
            case ThinkingStarted():
                self._think()
            case ThinkingEnded() if self._thinking:
                self._end_thought()
                self._wait("wait", for_more)
            case ThinkingEnded():
                pass  # it was over when something else began
            case ReplyStarted():
                self._arriving = Arriving()
            case ReplyEnded(reply=None, error=error):
                self._broke_off(error)
            case ReplyEnded():
                self._settle()
            case RetryScheduled():
                self._retry(event)
            case MessageAdded(message=AssistantMessage() as reply):
                self._settle()
                self._console(MessageAdded(self._without_what_was_shown(reply)))
            case TurnStarted():
                self._settle()
                self._console(event)
                self._wait("wait", for_the_first_word)
            case _:
                self._settle()
                self._console(event)

    # endregion: console

    # What arrives.

    def _said(self, text: str) -> None:
        self._arriving.said.append(text)
        if not self._live or not text:
            return
        if self._text is None:
            self._end_thought()
            label = self._screen.paint("model".ljust(8), Style.STRONG)
            self._text = LiveText(label, self._screen.width, show=self._visible)
        self._waiting = None
        self._since = self._clock.now()
        self._status.erase()
        if written := self._text.feed(text):
            self._screen.write(written)

    def _visible(self, text: str) -> str:
        return self._screen.spelled(visible(text))

    def _think(self) -> None:
        self._arriving.thoughts += 1
        self._arriving.thought = 0
        self._wait("think", self._thought_so_far)
        self._thinking = True

    def _thought_so_far(self, seconds: float) -> str:
        characters = f"{self._arriving.thought:,} characters so far" * bool(self._arriving.thought)
        return with_seconds(characters, seconds)

    def _end_thought(self) -> None:
        """Say how much was thought. Some providers end a thought only when all of it ends."""
        if not self._thinking:
            return
        seconds = self._clock.now() - self._since
        self._settle()
        if self._live and self._arriving.thought:
            size = f"{self._arriving.thought:,} characters, {amount(seconds)}"
            self._screen.line(f"think   {size}", Style.FAINT)

    def _broke_off(self, error: BaseException | None) -> None:
        self._settle()
        came, self._arriving = self._arriving, Arriving()
        self._shown = False
        if not came.anything:
            return
        said = "".join(came.said)
        if said.strip() and not self._live:
            self._screen.labelled("model", visible(said.strip("\n")), style=Style.STRONG)
        self._screen.labelled("broken", came.broken(error), style=Style.BAD)

    def _retry(self, retry: RetryScheduled) -> None:
        self._settle()
        why = reason(retry.error)
        again = f"{why}, sent again in {amount(retry.seconds)} as number {retry.attempt}"
        self._screen.labelled("again", again, style=Style.BAD)
        self._wait("wait", to_try_again(retry.seconds, why))

    def _without_what_was_shown(self, reply: AssistantMessage) -> AssistantMessage:
        said, self._arriving = "".join(self._arriving.said), Arriving()
        self._shown = False
        if not self._live or not said or not reply.text.startswith(said):
            return reply
        rest = reply.text.removeprefix(said)
        self._shown = not rest.strip()
        others = tuple(part for part in reply.content if not isinstance(part, Text))
        return replace(reply, content=(Text(rest), *others) if rest else others)

    # What is waited for.

    def _wait(self, label: str, about: About) -> None:
        self._settle()
        self._waiting = label, about
        self._since = self._clock.now()

    def _settle(self) -> None:
        """Take the status line away and end the text, so that a new line can be written."""
        self._waiting, self._thinking = None, False
        self._status.erase()
        text, self._text = self._text, None
        if text is not None:
            self._screen.write(text.finish())

    async def _tick_on(self) -> None:
        # Ends when the terminal is gone. Whoever writes the next event is told so.
        while True:
            await self._clock.sleep(TICK)
            self._tick()

    def _tick(self) -> None:
        waited = self._clock.now() - self._since
        if self._waiting is not None:
            label, about = self._waiting
            self._status.draw(label, about(waited))
        elif self._text is not None and waited >= STALLED:
            self._status.draw("wait", for_more(waited), below=self._text.started)

    def _leave(self) -> None:
        try:
            self._settle()
        except BrokenPipeError:
            raise  # whoever looked at the screen has left: that ends the program, quietly
        except (OSError, ValueError):
            pass  # as with events: what cannot be shown must not hide how the run ended
