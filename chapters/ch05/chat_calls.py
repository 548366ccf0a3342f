"""Which call of a streamed chat completion does a fragment belong to?

The API says: `index` tells. Servers leave it out, send null, or send 0 for every call; they repeat
ids and names or make up new ones. So all that a fragment says counts, in a fixed order.
"""

from __future__ import annotations

import re
from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch01.dispatch import JSON, parse_arguments
from chapters.ch04.wire import Json, words
from chapters.ch05.accumulator import Pieces, no_arguments
from shared.errors import ToolError
from shared.messages import ToolCall

MARKS = re.compile(r'[\\"{}\[\]]')


class Fragment:
    """What one entry of `tool_calls` says. What is empty or null says nothing."""

    def __init__(self, entry: Any) -> None:
        if not isinstance(entry, dict):
            raise UnreadableReply("an entry of `tool_calls` is not an object")
        function = entry.get("custom") or entry.get("function") or {}
        if not isinstance(function, dict):
            raise UnreadableReply("the function of a tool call is not an object")
        index = entry.get("index")
        self.index = index if type(index) is int else None
        self.id = words(entry, "id")
        self.name = words(function, "name")
        arguments = function.get("arguments", function.get("input"))
        # An empty object at the beginning means the same as an empty text.
        given = arguments_of("" if no_arguments(arguments) else arguments)
        self.arguments = arguments if isinstance(arguments, str) else given


class Call:
    """A call that grows. `part` is its place in the reply."""

    def __init__(self, part: int, index: int | None) -> None:
        self.part = part
        self.index = index
        self.id = ""
        self.name = ""
        self.raw: list[str] = []  # the pieces of the arguments as they came
        self.arguments = Pieces()
        self._repeats = True  # each piece begins with the one before
        self._whole = Whole()

    def add(self, fragment: Fragment) -> str:
        """Take in a fragment, and return what it adds to the arguments that can be shown."""
        self.id = self.id or fragment.id
        if fragment.name.startswith(self.name):
            self.name = fragment.name
        elif fragment.name:
            self.name += fragment.name
        piece = fragment.arguments
        if not piece:
            return ""
        if self.raw:
            self._repeats = self._repeats and piece.startswith(self.raw[-1])
        self.raw.append(piece)
        return self.arguments.add(piece)

    @property
    def whole(self) -> bool:
        """Whether the arguments so far are a whole object or list, brackets counted."""
        return self._whole.after(self.raw)

    def finished(self) -> ToolCall:
        """The call as it is when the reply has ended."""
        text = self.arguments.text
        if len(self.raw) > 1 and self._repeats and not is_object(text) and is_object(self.raw[-1]):
            last = Pieces()
            text = last.add(self.raw[-1]) + last.end()
        return ToolCall(self.id, self.name, unwrapped(text))


class Whole:
    """Whether the brackets of a text are closed again. Each piece of it is looked at once."""

    def __init__(self) -> None:
        self._seen = 0
        self._depth = 0
        self._begun = self._quoted = self._escaped = False

    def after(self, pieces: list[str]) -> bool:
        """Whether they are closed after these pieces, which are those of the last time and more."""
        while self._seen < len(pieces):
            self._look_at(pieces[self._seen])
            self._seen += 1
        return self._begun and self._depth == 0 and not self._quoted

    def _look_at(self, piece: str) -> None:
        skipped = 0 if self._escaped else -1  # the place of a character that is escaped
        self._escaped = False
        for match in MARKS.finditer(piece):
            mark, place = match.group(), match.start()
            if place == skipped:
                continue
            if mark == "\\":
                skipped = place + 1
                self._escaped = skipped == len(piece)
            elif mark == '"':
                self._quoted = not self._quoted
            elif not self._quoted:
                self._begun = True
                self._depth += 1 if mark in "{[" else -1


# region: calls
class Calls:
    """The calls of a reply, put together from their fragments."""

    def __init__(self, offered: frozenset[str]) -> None:
        self.all: list[Call] = []
        self._offered = offered
        self._at: dict[int, Call] = {}  # the newest under each index
        self._named: dict[tuple[int | None, str], Call] = {}  # by index and id, and by id alone

    def add(self, fragment: Fragment, part: int) -> tuple[Call, bool, str]:
        """The call of a fragment, whether it is a new one, and what it adds to the arguments.

        A new call gets the place `part`.
        """
        call = self._find(fragment)
        new = call is None or self._begins(fragment, call)
        if call is None or new:
            call = Call(part, fragment.index)
            self.all.append(call)
        if fragment.index is not None:
            call.index = fragment.index
            self._at[fragment.index] = call
        added = call.add(fragment)
        if call.id:
            self._named[call.index, call.id] = self._named[None, call.id] = call
        return call, new, added

    def _find(self, fragment: Fragment) -> Call | None:
        """By index, of several the one with this id; without an index by id; else the last one."""
        last = self.all[-1] if self.all else None
        known = self._named.get((None, fragment.id), last)
        if fragment.index is None or known is None:
            return known
        found = self._named.get((fragment.index, fragment.id)) or self._at.get(fragment.index)
        return known if found is None and known.index is None else found  # it began without one

    def _begins(self, fragment: Fragment, call: Call) -> bool:
        """Whether the fragment begins another call than the one it was found to belong to."""
        name = fragment.name
        if not name:
            return False
        same = bool(fragment.id) and fragment.id == call.id
        if fragment.id and call.id and not same:
            return True
        if not call.name:
            return False
        if name != call.name and {name, call.name} <= self._offered:
            return bool(call.raw) or not name.startswith(call.name)  # else the name may be growing
        if not call.whole:
            return False
        more = fragment.arguments.strip()  # a blank after the last bracket is no other call
        if same:  # a server may send all of it once more
            return bool(more) and not fragment.arguments.startswith(call.raw[-1])
        return name != call.name or bool(more)


# endregion: calls


def is_object(text: str) -> bool:
    """Whether a text is the arguments of a call as they should be."""
    try:
        return bool(text.strip()) and parse_arguments(text) is not None
    except ToolError:
        return False


def unwrapped(text: str) -> str:
    """Arguments without a second layer of JSON, which some servers put around an object."""
    if not text.lstrip().startswith('"'):
        return text
    try:
        inside = JSON.decode(text)
    except (ValueError, RecursionError):
        return text
    return inside if isinstance(inside, str) and is_object(inside) else text


def to_wire(call: ToolCall) -> Json:
    """The call as it stands in an answer that comes in one piece."""
    function = {"name": call.name, "arguments": call.arguments}
    return {"id": call.id, "type": "function", "function": function}
