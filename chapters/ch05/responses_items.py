"""The items of a streamed response while they grow: what came of each, and what can be shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from chapters.ch01.chat_wire import UnreadableReply, arguments_of
from chapters.ch04.responses_reply import parts_of
from chapters.ch04.wire import Json, words
from chapters.ch05.accumulator import Pieces, no_arguments
from chapters.ch05.responses_texts import (
    CALLS,
    MESSAGE,
    REASONING,
    TEXTS,
    THOUGHTS,
    goes_on,
    texts_in,
)
from shared.events import (
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import Thinking, ToolCall


class Grown:
    """A text of an item. `part` is its place in the reply, if it is a part of its own."""

    def __init__(self) -> None:
        self.said = Pieces()
        self.part: int | None = None


# region: item
class Item:
    """One item of the output. `take` gives the next place in the reply.

    `field` and `number` say which of its texts grows: a kind of content or a list, and the place in
    it; of a call there is one, the arguments.
    """

    def __init__(self, kind: str, index: int, take: Callable[[], int]) -> None:
        self.kind = kind
        self.index = index
        self.begun: Json = {}
        self.done: Json | None = None
        self._take = take
        self._part: int | None = None
        self._texts: dict[tuple[str, int], Grown] = {}
        self._shown = ""  # which list of a reasoning item a person sees
        self._settled: str | None = None  # the arguments, when they have been brought whole

    def begin(self, begun: Json) -> Iterator[StreamEvent]:
        """It is there. `begun` may come later than the first piece."""
        self.begun = self.begun or begun
        if self._part is not None:
            return
        if self.kind in CALLS:
            self._part = self._take()
            yield ToolCallStarted(self._part, words(begun, "call_id"), words(begun, "name"))
        elif self.kind == REASONING:
            self._part = self._take()
            yield ThinkingStarted(self._part)

    def grow(self, field: str, number: int, piece: str) -> Iterator[StreamEvent]:
        """One of its texts has grown."""
        key = field, number
        if piece and key not in self._texts:
            yield from self._open(field, number)
        if piece and (shown := self._texts[key].said.add(piece)):
            yield from self._show(field, self._texts[key], shown)

    def settle(self, field: str, number: int, whole: str) -> Iterator[StreamEvent]:
        """One of its texts is whole: what did not come in pieces is told now."""
        if self.kind in CALLS:
            whole = arguments_of(whole)
            self.confirm(whole)
            self._settled = whole or self._settled or ""
        grown = self._texts.get((field, number))
        before = grown.said.text if grown else ""
        if whole.startswith(before):
            yield from self.grow(field, number, whole[len(before) :])

    @property
    def call(self) -> str:
        """The `call_id` of a call."""
        return words(self.done or {}, "call_id") or words(self.begun, "call_id")

    @property
    def arguments(self) -> str:
        """The arguments of a call so far. Those at its beginning count if no others have come."""
        if grown := self._texts.get((CALLS[self.kind], 0)):
            return grown.said.text
        return self._begun_with

    @property
    def _begun_with(self) -> str:
        # An item that never began is kept as begun by its end.
        said = None if self.begun is self.done else self.begun.get(CALLS[self.kind])
        return "" if no_arguments(said) or said == "{}" else arguments_of(said)

    def confirm(self, arguments: str) -> None:
        """Raises UnreadableReply if the arguments of a call are not what came of them before.

        Which of them the model meant, nobody can know: it runs with none of them.
        """
        come = [self._begun_with, self.arguments, self._settled or "", arguments]
        said = [each for each in come if each]
        if not all(goes_on(*both) for both in pairwise(said)):
            raise UnreadableReply("the arguments of a call contradict each other")

    def hear_again(self, done: Json) -> None:
        """It is said once more how it has ended. What is worse counts.

        Raises UnreadableReply if the arguments of a call are other ones now.
        """
        if self.kind in CALLS:
            self.confirm(arguments_of(done.get(CALLS[self.kind])))
        if done.get("status") == "incomplete":
            self.done = {**(self.done or {}), "status": "incomplete"}

    @property
    def unfinished(self) -> bool:
        """Whether it is a call of which nobody said what it is called with, not even nothing."""
        begun = self.kind in CALLS and self.done is None and self._settled is None
        return begun and not self.arguments

    def close(self, done: Json | None) -> Iterator[StreamEvent]:
        """It has ended. `done` is how it is then, None if nobody says."""
        yield from self.begin(done or {})
        self.done = done
        if done is None and self.kind in CALLS:
            self.confirm("")
            done = {CALLS[self.kind]: self.arguments}
        for field, number, text in texts_in(self.kind, done or self.begun):
            if text and (self.kind != REASONING or self._shown in ("", field)):
                yield from self.settle(field, number, text)
        for (field, _), grown in self._texts.items():
            if half := grown.said.end():
                yield from self._show(field, grown, half)
        read = list(parts_of(self.whole()))
        match read:
            case [ToolCall() as call] if self._part is not None:
                yield ToolCallEnded(self._part, call)
            case [Thinking() as thought] if self._part is not None:
                yield ThinkingEnded(self._part, thought.text)
        if self.kind == MESSAGE:
            for grown in self._texts.values():
                if grown.part is not None:
                    yield TextEnded(grown.part, grown.said.text)

    def whole(self) -> Json:
        """The item as it stands in a response that comes in one piece."""
        done = {name: value for name, value in (self.done or {}).items() if value is not None}
        item = {**self.begun, **done, "type": self.kind}
        if self.done is None and self.kind == REASONING:
            item.pop("encrypted_content", None)  # what comes before the end is not valid
        if self.kind in CALLS:
            item[CALLS[self.kind]] = self.arguments
            return item
        if any(text for _, _, text in texts_in(self.kind, item)):
            return item
        if self.kind == MESSAGE and self._texts:
            item["content"] = [
                {"type": field, TEXTS[field]: self._texts[field, number].said.text}
                for number, field in sorted((number, field) for field, number in self._texts)
            ]
        elif self.kind == REASONING:
            for name, kind in THOUGHTS.items():
                numbers = sorted(number for field, number in self._texts if field == name)
                texts = [self._texts[name, number].said.text for number in numbers]
                if texts:
                    item[name] = [{"type": kind, "text": text} for text in texts]
        return item

    def _open(self, field: str, number: int) -> Iterator[StreamEvent]:
        """A text begins: in a message it is a part of its own."""
        later = any(known == field for known, _ in self._texts)
        grown = self._texts[field, number] = Grown()
        if self.kind == MESSAGE:
            grown.part = self._take()
            yield TextStarted(grown.part)
        elif self.kind == REASONING:
            self._shown = self._shown or field
            if later:
                yield from self._show(field, grown, "\n\n")

    def _show(self, field: str, grown: Grown, piece: str) -> Iterator[StreamEvent]:
        if grown.part is not None:
            yield TextDelta(grown.part, piece)
        elif self._part is not None and self.kind in CALLS:
            yield ToolCallDelta(self._part, piece)
        elif self._part is not None and field == self._shown:
            yield ThinkingDelta(self._part, piece)


# endregion: item
