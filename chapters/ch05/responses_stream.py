"""OpenAI Responses, streamed: items that are added, grow and are done, each at its own place."""

from __future__ import annotations

from collections.abc import Iterator

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.responses import RESPONSES
from chapters.ch04.wire import Json, objects, words
from chapters.ch05.accumulator import (
    REST_BEHIND_THE_END,
    ReportedError,
    StreamWire,
    refuse_errors,
)
from chapters.ch05.responses_end import counterparts, same_item, stricter
from chapters.ch05.responses_items import Item
from chapters.ch05.responses_texts import MESSAGE, REASONING
from shared.events import StreamEvent

# What grows with an event: the kind of item, which of its texts, and what says the number of it.
# The event with `.done` in place of `.delta` brings that text whole, in the field named last.
GROWS = {
    "response.output_text": (MESSAGE, "output_text", "content_index", "text"),
    "response.refusal": (MESSAGE, "refusal", "content_index", "refusal"),
    "response.reasoning_summary_text": (REASONING, "summary", "summary_index", "text"),
    "response.reasoning_text": (REASONING, "content", "content_index", "text"),
    "response.function_call_arguments": ("function_call", "arguments", "", "arguments"),
    "response.custom_tool_call_input": ("custom_tool_call", "input", "", "input"),
}
ENDS = {f"response.{status}" for status in ("completed", "incomplete", "failed", "cancelled")}
WHY = ("code", "message", "param")


# region: accumulator
class ResponsesAccumulator:
    """Puts a response together from its items. Several of them may grow at a time."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._at: dict[int, Item] = {}  # the newest at each place of the output
        self._named: dict[str, Item] = {}
        self._count = 0
        self._id: str | None = None  # of the response
        self._response: Json | None = None

    def feed(self, event: Json) -> Iterator[StreamEvent]:
        """Take in one event of the stream."""
        kind = event.get("type")
        refuse_errors(event)
        if not isinstance(kind, str):
            raise UnreadableReply("an event has no `type`")
        base, _, step = kind.rpartition(".")
        if kind == "error":
            raise ReportedError({name: event.get(name) for name in WHY})
        if kind in ENDS:
            yield from self._finish(event, step)
        elif kind == "response.created":
            self._open(event)
        elif kind == "response.output_item.added":
            yield from self._begin(event)
        elif kind == "response.output_item.done":
            yield from self._done(event)
        elif base in GROWS and step in ("delta", "done"):
            yield from self._grow(event, base, step)

    def end(self) -> Iterator[StreamEvent]:
        """Close what nobody closed."""
        for item in self._in_order():
            if item.done is None:
                yield from item.close(None)

    @property
    def finished(self) -> bool:
        """Whether the response has come that says how it went."""
        return self._response is not None

    @property
    def rest(self) -> float | None:
        """How long to listen on, in seconds, when the response has ended."""
        return None if self._response is None else REST_BEHIND_THE_END

    def answer(self) -> Json:
        """The response as it would have come in one piece. Its own list of items may be empty."""
        if any(item.unfinished for item in self._items):
            raise UnreadableReply("a call has begun and nothing more of it came")
        output = [item.whole() for item in self._in_order()]
        response = self._response or {}
        if any(item.get("status") == "incomplete" for item in output):
            response = stricter(response, {"status": "incomplete"})
        return {**response, "output": output}

    def _open(self, event: Json) -> None:
        """Another response in this stream would not go on with what came: it is another answer."""
        response = event.get("response")
        name = words(response, "id") if isinstance(response, dict) else ""
        if self._id is not None and (name != self._id or (not name and self._items)):
            raise UnreadableReply("a second response begins in the middle of the first")
        self._id = name

    def _begin(self, event: Json) -> Iterator[StreamEvent]:
        begun = item_in(event)
        kind, name = words(begun, "type"), words(begun, "id")
        item = self._find(event, name)
        if item is not None and item.done is None:
            same = bool(name) and words(item.begun, "id") == name  # said twice
            early = not item.begun and item.kind == kind  # its first piece came before it did
        if item is None or item.done is not None or not (same or early):
            item = self._new(kind, event)
        self._named |= {name: item} if name else {}
        yield from item.begin(begun)

    def _done(self, event: Json) -> Iterator[StreamEvent]:
        done = item_in(event)
        kind, name = words(done, "type"), words(done, "id")
        item = self._find(event, name)
        if item is not None and item.done is not None and same_item(item.done, done):
            item.hear_again(done)
            return
        if item is None or item.done is not None or item.kind != kind:
            item = self._new(kind, event)
        self._named |= {name: item} if name else {}
        yield from item.close(done)

    def _grow(self, event: Json, base: str, step: str) -> Iterator[StreamEvent]:
        kind, field, numbered, whole = GROWS[base]
        said = event.get("delta" if step == "delta" else whole)
        if said is None:
            return
        if not isinstance(said, str):
            raise UnreadableReply(f"a piece of {field} is not text")
        number = event.get(numbered) if numbered else 0
        number = number if type(number) is int else 0
        name = words(event, "item_id")
        item = self._find(event, name)
        if item is None or item.kind != kind:
            item = self._new(kind, event)
            self._named |= {name: item} if name else {}
        if item.done is not None:
            return
        yield from item.begin({})
        yield from (item.grow if step == "delta" else item.settle)(field, number, said)

    def _finish(self, event: Json, status: str) -> Iterator[StreamEvent]:
        response = event.get("response")
        response = response if isinstance(response, dict) else {}
        refuse_errors(response)
        if "failed" in (status, response.get("status")):
            raise ReportedError({"code": "server_error", "message": "The reply failed."})
        ended = {**response, "status": words(response, "status") or status}
        if response.get("incomplete_details"):
            ended = stricter(ended, {"status": "incomplete"})
        ended = stricter(ended, {"status": status})
        self._response = stricter(ended, self._response or {})
        yield from self._complete(objects(response, "output"))

    def _complete(self, output: list[Json]) -> Iterator[StreamEvent]:
        """Take in what the stream of items left out, and compare what it did not."""
        same = counterparts(self._in_order(), self._named, output)
        for index, (item, known) in enumerate(zip(output, same, strict=True)):
            if known is None:
                new = self._new(words(item, "type"), {"output_index": index})
                yield from new.close(item)
            elif known.done is None:
                yield from known.close(item)
            else:
                known.hear_again(item)

    def _find(self, event: Json, name: str) -> Item | None:
        """The item that an event is about. Ids may change on the way, so its place comes first."""
        index, named = event.get("output_index"), self._named.get(name)
        if type(index) is not int:
            return named or (self._items[-1] if self._items else None)
        return named if named is not None and named.index == index else self._at.get(index)

    def _new(self, kind: str, event: Json) -> Item:
        index = event.get("output_index")
        place = index if type(index) is int else len(self._items)
        item = self._at[place] = Item(kind, place, self._take)
        self._items.append(item)
        return item

    def _take(self) -> int:
        self._count += 1
        return self._count - 1

    def _in_order(self) -> list[Item]:
        return sorted(self._items, key=lambda item: item.index)


# endregion: accumulator


def item_in(event: Json) -> Json:
    """The item that an event brings. Raises UnreadableReply if there is none."""
    item = event.get("item")
    if not isinstance(item, dict):
        raise UnreadableReply("`item` is missing or not an object")
    return item


RESPONSES_STREAM = StreamWire(
    wire=RESPONSES,
    fields=lambda request, target: {"stream": True},
    accumulator=lambda offered: ResponsesAccumulator(),
)
