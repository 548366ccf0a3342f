"""`SameCallAgain`: a call that brought the same result too often is not run once more."""

from __future__ import annotations

import json
from typing import Any

from chapters import ch05
from chapters.ch01.dispatch import parse_arguments
from shared.errors import ToolError
from shared.events import Event, RunStarted
from shared.messages import ToolCall
from shared.plan import Kit, Plan
from shared.tools import Invoke, Output, PreparedCall, Returned, ToolLayer

NAME = CODE = "same_call_again"
CRASH = ("crash", "")
"""What comes of any exception but a ToolError: the model reads the same of every crash."""


def key_of(call: ToolCall) -> tuple[str, str]:
    """Something that is equal for two calls if they ask for the same."""
    # solution: The name, and the arguments as JSON, spelled in the one way that you choose.
    arguments = _plain(parse_arguments(call.arguments))
    return call.name, json.dumps(arguments, sort_keys=True)


def _plain(value: Any) -> Any:
    """JSON has numbers of one kind: 1.0 is 1."""
    match value:
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
        case float() if value.is_integer():
            return int(value)
    return value
    # end solution


class SameCallAgain:
    """Lets a call run until it has brought the same result `most` times in a row, in one run.

    `layer` is put outside of all other tool layers; `listen` begins anew with each run.
    """

    def __init__(self, most: int = 2) -> None:
        if most < 1:
            raise ValueError(f"{most} times is too few: no call would ever run")
        self._most = most
        self._forget()

    def listen(self, event: Event) -> None:
        """The listener: a run that starts knows of no call."""
        # solution: Every event but one is none of yours.
        if isinstance(event, RunStarted):
            self._forget()
        # end solution

    def _forget(self) -> None:
        self._key: object = None  # of the last call that ran
        self._outcome: object = None  # what came of it
        self._times = 0  # so often in a row

    def layer(self) -> ToolLayer:
        """The layer: it refuses a call, or lets it run and sees what comes of it."""
        # solution: Refuse with `self._refusal()`; else go on, and `_note` what comes of it.

        def wrap(invoke: Invoke) -> Invoke:
            async def watch(prepared: PreparedCall) -> Returned:
                key = key_of(prepared.call)
                if key == self._key and self._times >= self._most:
                    raise self._refusal()
                try:
                    returned = await invoke(prepared)
                except ToolError as error:
                    self._note(key, (error.code, error.message))
                    raise
                except Exception:
                    self._note(key, CRASH)
                    raise
                output = Output(returned) if isinstance(returned, str) else returned
                self._note(key, output)
                return returned

            return watch

        return ToolLayer(NAME, wrap)
        # end solution

    def _note(self, key: object, outcome: object) -> None:
        """A call has ended."""
        # solution: Is it once more the same call with the same outcome, or something new?
        same = (key, outcome) == (self._key, self._outcome)
        self._times = self._times + 1 if same else 1
        self._key, self._outcome = key, outcome
        # end solution

    def _refusal(self) -> ToolError:
        """What the model reads instead of the same result once more."""
        return ToolError(
            CODE,
            f"Not run: this call brought the same result {self._most} times in a row, and would "
            "again. Use that result, try something else, or tell the user what you are stuck on.",
        )


def plan(kit: Kit, *, most: int = 2) -> Plan:
    """Chapter 5's agent, which tells its model when it goes round in circles."""
    # solution: Two parts, two places. The last of the tool layers is the outermost.
    again = SameCallAgain(most)
    return ch05.plan(kit).with_tool_layer(again.layer()).with_listeners(again.listen)
    # end solution
