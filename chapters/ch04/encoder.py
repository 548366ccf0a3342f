"""Each message is turned into bytes once, however often it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_

from chapters.ch04.provider import Target
from chapters.ch04.repair import Group, Repair
from chapters.ch04.wire import Json, Wire, encode, fields_of
from shared.history import HistoryView
from shared.messages import AssistantMessage, Message, Request, ToolSpec


# region: encoder
class Encoder:
    """Makes the body of each request of a conversation, and keeps the bytes of what is settled.

    A request repeats everything that was said before. Only what is new since the last one is
    repaired and encoded. If the messages are not those of the last request with more behind them,
    it starts over. `taken` holds the call ids of the history; `empty` says whether nothing of it
    was left for the last request.
    """

    def __init__(self, wire: Wire, target: Target) -> None:
        self._wire = wire
        self._target = target
        self._offered: tuple[tuple[ToolSpec, ...], str, bytes] | None = None
        self.empty = True
        self._start_over()

    def body(self, request: Request) -> bytes:
        """The request as JSON in UTF-8. Raises ConfigError for one that cannot be sent at all."""
        fields = self._encoded_fields(request)
        self._catch_up(request.messages)
        late = [items for group in self._repair.rest() if (items := self._items(group))]
        tail = [self._last, *late] if self._last else late
        self.empty = not tail
        if tail:
            tail[-1] = self._wire.closing(tail[-1], self._target)
        opening = _joined([self._wire.opening(request, self._target)])
        said = b",".join(filter(None, [opening, self._settled, _joined(tail)]))
        comma = b"," if len(fields) > len(b"{}") else b""
        return b"".join([fields[:-1], comma, encode(self._wire.key), b":[", said, b"]}"])

    def _start_over(self) -> None:
        self.taken: set[str] = set()
        self._seen: Sequence[Message] = ()
        self._repair = Repair(self._target)
        self._settled = bytearray()  # the items of all finished groups but the last
        self._last: list[Json] = []  # which may still be marked as the last one

    def _catch_up(self, messages: Sequence[Message]) -> None:
        if not _continues(messages, self._seen):
            self._start_over()
        for position in range(len(self._seen), len(messages)):
            message = messages[position]
            if isinstance(message, AssistantMessage):
                self.taken.update([call.id for call in message.calls])
            for group in self._repair.feed(message):
                if items := self._items(group):
                    self._settle(self._last)
                    self._last = items
        self._seen = messages

    def _settle(self, items: list[Json]) -> None:
        if items:
            if self._settled:
                self._settled += b","
            self._settled += _joined([items])

    def _items(self, group: Group) -> list[Json]:
        return self._wire.items(group, self._target)

    def _encoded_fields(self, request: Request) -> bytes:
        known = self._offered
        if known is None or known[0] is not request.tools or known[1] != request.system:
            fields = encode(fields_of(self._wire, request, self._target))
            known = self._offered = (request.tools, request.system, fields)
        return known[2]


# endregion: encoder


def _continues(messages: Sequence[Message], seen: Sequence[Message]) -> bool:
    if isinstance(messages, HistoryView) and isinstance(seen, HistoryView):
        return messages.continues(seen)
    return len(messages) >= len(seen) and all(map(is_, messages, seen))


def _joined(groups: Iterable[list[Json]]) -> bytes:
    return b",".join([encode(item) for items in groups for item in items])
