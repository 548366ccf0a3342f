"""Each message is turned into bytes once, however often it is sent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import is_

from chapters.ch04.provider import Target
from chapters.ch04.repair import Group, Repair
from chapters.ch04.wire import Json, Wire, encode, encoded_fields
from shared.history import HistoryView
from shared.messages import AssistantMessage, Message, Request, ToolSpec


@dataclass(frozen=True, slots=True)
class _Encoded:
    """The items of one group, and their bytes."""

    items: list[Json]
    content: bytes


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
        try:
            fields = self._encoded_fields(request)
            self._catch_up(request.messages)
            tail = [each for each in (self._last, *self._rest()) if each.items]
            opening = _joined(self._wire.opening(request, self._target))
            closing = self._closed(tail[-1]) if tail else b""
        except BaseException:  # half of what was new is in: nothing of it may be left
            self._start_over()
            raise
        self.empty = not tail
        parts: list[bytes | bytearray] = [
            opening,
            self._settled,
            *[each.content for each in tail[:-1]],
            closing,
        ]
        said = b",".join([part for part in parts if part])
        comma = b"," if len(fields) > len(b"{}") else b""
        return b"".join([fields[:-1], comma, encode(self._wire.key), b":[", said, b"]}"])

    def _start_over(self) -> None:
        self.taken: set[str] = set()
        self._seen: Sequence[Message] = ()
        self._repair = Repair(self._target)
        self._settled = bytearray()  # the items of all finished groups but the last
        self._last = _Encoded([], b"")  # which may still be marked as the last one
        self._waiting: dict[int, tuple[Group, _Encoded]] = {}  # said while a call was open

    def _catch_up(self, messages: Sequence[Message]) -> None:
        if not _continues(messages, self._seen):
            self._start_over()
        for position in range(len(self._seen), len(messages)):
            message = messages[position]
            if isinstance(message, AssistantMessage):
                self.taken.update([call.id for call in message.calls])
            finished = [self._encoded(group) for group in self._repair.feed(message)]
            for each in finished:
                if each.items:
                    self._settle(self._last.content)
                    self._last = each
            if finished:
                self._waiting.clear()
        # A list may grow, or be edited, behind our back.
        self._seen = messages if isinstance(messages, HistoryView) else tuple(messages)

    def _settle(self, content: bytes) -> None:
        if content:
            if self._settled:
                self._settled += b","
            self._settled += content

    def _rest(self) -> list[_Encoded]:
        """What waits for the results of open calls. Results are encoded anew, as one more came."""
        rest = self._repair.rest()
        for group in (*rest[1:2], *rest[1 + len(self._waiting) :]):  # the first one, and new ones
            self._waiting[id(group.messages[0])] = group, self._encoded(group)
        return [*map(self._encoded, rest[:1]), *[each for _, each in self._waiting.values()]]

    def _encoded(self, group: Group) -> _Encoded:
        known = self._waiting.get(id(group.messages[0]))
        if known and known[0] == group:
            return known[1]
        items = self._wire.items(group, self._target)
        return _Encoded(items, _joined(items))

    def _closed(self, last: _Encoded) -> bytes:
        """The last items with the mark of the last ones, if the API has one."""
        items = self._wire.closing(last.items, self._target)
        return last.content if items is last.items else _joined(items)

    def _encoded_fields(self, request: Request) -> bytes:
        known = self._offered
        tools = tuple(request.tools)
        if known is None or known[0] is not tools or known[1] != request.system:
            fields = encoded_fields(self._wire, request, self._target)
            known = self._offered = (tools, request.system, fields)
        return known[2]


# endregion: encoder


def _continues(messages: Sequence[Message], seen: Sequence[Message]) -> bool:
    if isinstance(messages, HistoryView) and isinstance(seen, HistoryView):
        return messages.continues(seen)
    return len(messages) >= len(seen) and all(map(is_, messages, seen))


def _joined(items: Iterable[Json]) -> bytes:
    return b",".join([encode(item) for item in items])
