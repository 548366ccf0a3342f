"""OpenAI Chat Completions, streamed, as every compatible server does it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chapters.ch01.chat_wire import STOP_REASONS, UnreadableReply, text_of
from chapters.ch04.chat import CHAT, THOUGHTS
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, words
from chapters.ch05.accumulator import (
    REST_BEHIND_A_REASON,
    Pieces,
    ReportedError,
    StreamWire,
    refuse_errors,
)
from chapters.ch05.chat_calls import Calls, Fragment, to_wire
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
from shared.messages import FINISHED, Request

TEXTS = ("content", "refusal")
JUST_TEXT = ["content"]
SAYING = (*TEXTS, *THOUGHTS, "tool_calls", "function_call")


class Part:
    """A text or a thought that grows; `part` is its place in the reply."""

    def __init__(self, part: int) -> None:
        self.part = part
        self.said = Pieces()


# region: accumulator
class ChatAccumulator:
    """Puts a chat completion together. There is no sign that a part of it is whole before all is.

    `offered` are the names of the tools on offer: they help to tell two calls from each other.
    """

    def __init__(self, offered: frozenset[str] = frozenset()) -> None:
        self._texts: dict[str, Part] = {}  # by the name of the field that they come in
        self._thought: tuple[str, Part] | None = None  # and the name of its field
        self._calls = Calls(offered)
        self._count = 0
        self._finish = ""
        self._usage: Any = None
        self._more = False  # something came behind a finish reason
        self._id, self._chunks = "", 0  # of the chunks, and how many have had it

    def feed(self, event: Json) -> Iterator[StreamEvent]:
        """Take in one chunk. Most fields may be null, and one that is missing says nothing."""
        refuse_errors(event)
        if is_error(event):
            raise ReportedError(event)
        choice = first_choice(event.get("choices"))
        refuse_errors(choice)
        for said in (choice.get("usage"), event.get("usage")):
            if isinstance(said, dict):
                self._usage = said  # some send a total with each chunk: the last one counts
        delta = object_or_null(choice.get("delta"), "`delta`")
        self._identify(event, delta)
        saying = [name for name, value in delta.items() if value and name in SAYING]
        self._more = self._more or (self.finished and bool(saying))
        if saying == JUST_TEXT:  # as most chunks do
            yield from self._say("content", delta["content"])
        elif saying:
            yield from self._think(delta)
            for name in TEXTS:
                yield from self._say(name, delta.get(name))
            yield from self._call(delta)
        finish = words(choice, "finish_reason")
        if finish and STOP_REASONS.get(self._finish or "stop") in FINISHED:
            self._finish = finish  # but a reason not to use the reply is not taken back

    def end(self) -> Iterator[StreamEvent]:
        """Close all parts, in their order."""
        ends: list[tuple[int, list[StreamEvent]]] = []
        if self._thought:
            thought = self._thought[1]
            rest = [ThinkingDelta(thought.part, half)] if (half := thought.said.end()) else []
            ends.append((thought.part, [*rest, ThinkingEnded(thought.part, thought.said.text)]))
        for text in self._texts.values():
            more = [TextDelta(text.part, half)] if (half := text.said.end()) else []
            ends.append((text.part, [*more, TextEnded(text.part, text.said.text)]))
        for call in self._calls.all:
            last = [ToolCallDelta(call.part, half)] if (half := call.arguments.end()) else []
            ends.append((call.part, [*last, ToolCallEnded(call.part, call.finished())]))
        for _, told in sorted(ends, key=lambda entry: entry[0]):
            yield from told

    @property
    def finished(self) -> bool:
        """Whether a finish reason has come."""
        return bool(self._finish)

    @property
    def rest(self) -> float | None:
        """How long to listen on, in seconds, when there is a finish reason and the tokens.

        A server that gives a reason with each chunk has to end the stream.
        """
        return REST_BEHIND_A_REASON if self._finish and self._usage and not self._more else None

    def answer(self) -> Json:
        """The completion as it would have come in one piece."""
        message: Json = {"role": "assistant"}
        message |= {name: text.said.text for name, text in self._texts.items()}
        if self._thought:
            name, thought = self._thought
            message[name] = thought.said.text
        if self._calls.all:
            message["tool_calls"] = [to_wire(call.finished()) for call in self._calls.all]
        choice = {"index": 0, "message": message, "finish_reason": self._finish or None}
        return {"choices": [choice], "usage": self._usage}

    def _identify(self, event: Json, delta: Json) -> None:
        """Another completion in this stream would not go on with what came: it is another answer.

        Servers that make up an id for every chunk are left alone.
        """
        name = event.get("id")
        if not name or not isinstance(name, str):
            return
        if name != self._id:
            if self._chunks > 1 and self._count and delta.get("role"):
                raise UnreadableReply("a second completion begins in the middle of the first")
            self._id, self._chunks = name, 0
        self._chunks += 1

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _say(self, name: str, content: Any) -> Iterator[StreamEvent]:
        said = content if isinstance(content, str) else text_of(content)
        if not said:
            return
        if name not in self._texts:
            self._texts[name] = Part(self._next())
            yield TextStarted(self._texts[name].part)
        text = self._texts[name]
        if shown := text.said.add(said):
            yield TextDelta(text.part, shown)

    def _think(self, delta: Json) -> Iterator[StreamEvent]:
        """One field of several that say the same; `reasoning_details` says it once more."""
        said = [(name, delta.get(name)) for name in THOUGHTS]
        found = next(((name, said) for name, said in said if isinstance(said, str) and said), None)
        if found is None:
            return
        if self._thought is None:
            self._thought = found[0], Part(self._next())
            yield ThinkingStarted(self._thought[1].part)
        thought = self._thought[1]
        if shown := thought.said.add(found[1]):
            yield ThinkingDelta(thought.part, shown)

    def _call(self, delta: Json) -> Iterator[StreamEvent]:
        entries = delta.get("tool_calls") or []
        if not entries and delta.get("function_call"):  # before several calls were possible
            entries = [{"function": delta["function_call"]}]
        if not isinstance(entries, list):
            raise UnreadableReply("`tool_calls` is not a list")
        for entry in entries:
            call, new, added = self._calls.add(Fragment(entry), self._count)
            if new:
                self._count += 1
                yield ToolCallStarted(call.part, call.id, call.name)
            if added:
                yield ToolCallDelta(call.part, added)


# endregion: accumulator


def is_error(event: Json) -> bool:
    """Whether an event is itself an error object: some servers send it as a chunk of its own."""
    if event.get("object") == "error" or "choices" in event:
        return event.get("object") == "error"
    return bool(words(event, "message") or words(event, "detail"))


def first_choice(choices: Any) -> Json:
    """The answer among the choices. Those with another number than 0 were not asked for."""
    if not isinstance(choices or [], list):
        raise UnreadableReply("`choices` is not a list")
    for choice in choices or ():
        read = object_or_null(choice, "a choice")
        if type(read.get("index")) is not int or not read["index"]:
            return read
    return {}


def object_or_null(value: Any, what: str) -> Json:
    """An object, an empty one for null. Raises UnreadableReply for anything else."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise UnreadableReply(f"{what} is not an object")
    return value


def fields(request: Request, target: Target) -> Json:
    """What a request says so that its answer is streamed, with the tokens at its end."""
    usage = {"stream_options": {"include_usage": True}} if target.provider.stream_usage else {}
    return {"stream": True, **usage}


CHAT_STREAM = StreamWire(wire=CHAT, fields=fields, accumulator=ChatAccumulator)
