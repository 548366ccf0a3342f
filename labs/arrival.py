"""The first part of lab 5: a server that waits until what it has sent was seen."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from labs.experiment import Observed
from labs.faulty_provider import streaming_from
from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
    RetryScheduled,
    TextDelta,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
    ToolFinished,
    ToolStarted,
)
from shared.facts import Facts
from shared.messages import AssistantMessage
from shared.ports import Model
from shared.provider_server import Answer, ProviderServer, Received, completion, wire_call
from shared.provider_stream import stream_of, streamed
from shared.screen import Screen
from shared.testing import FakeClock
from shared.text import shorten, visible

SAYS = "I will read the file first."
PATIENCE = 2.0  # seconds that the server holds the rest of a reply back
WAIT = 2  # seconds that the provider asks for
CODE_WORD = re.compile(r"\b[a-z]+-\d{4}\b")


# region: arrival
@dataclass
class Arrival:
    """What was told of a run, in order, and whether the first words were seen in time.

    `held` is what the server knows: True if they were shown before it sent the rest.
    """

    events: list[Event] = field(default_factory=list)
    held: bool = False
    _seen: threading.Event = field(default_factory=threading.Event)

    def note(self, event: Event) -> None:
        """Keep one event; the first words of a reply let the server go on."""
        self.events.append(event)
        if isinstance(event, TextDelta):
            self._seen.set()

    def hold(self) -> None:
        """Called by the server between two pieces: wait until the one before was seen."""
        self.held = self._seen.wait(PATIENCE)


# endregion: arrival


@asynccontextmanager
async def scripted_arrival(
    arrival: Arrival, live: Model | None
) -> AsyncIterator[tuple[Model, ProviderServer | None, FakeClock | None]]:
    """The model of this part: the live one, or a server with a clock by which no time passes."""
    if live is not None:
        yield live, None, None
        return
    first = stream_of(
        completion(wire_call("call_1", "read_file", {"path": "word.txt"}), text=SAYS), step=6
    )
    limited = Answer(
        {"error": {"message": "Slow down", "code": "rate_limit_exceeded"}},
        429,
        headers={"retry-after": str(WAIT)},
    )
    with ProviderServer(streamed(*first[:2], arrival.hold, *first[2:]), limited, answer) as server:
        async with streaming_from(server) as model:
            yield model, server, FakeClock()


def answer(received: Received) -> Answer:
    """The last reply: with the word, if it was in the request. The server knows it from nowhere."""
    found = CODE_WORD.search(json.dumps(received.body))
    word = found.group() if found else "not in what I was sent"
    return streamed(*stream_of(completion(text=f"The code word is {word}.")))


# region: shown
def show_arrival(screen: Screen, arrival: Arrival) -> None:
    """What a listener was told, one event a line, up to the end of the first tool."""
    screen.line("\nWhat a listener was told, in this order:\n")
    held = arrival.held
    for event in arrival.events:
        if (line := in_short(event)) is not None:
            screen.labelled(type(event).__name__, visible(line), gutter=18)
        if held and isinstance(event, TextDelta):
            screen.line("                  (only now does the server send what comes next)")
            held = False
        if isinstance(event, ToolFinished):
            break


def in_short(event: Event) -> str | None:
    """What an event holds; None for one that is not about a reply or a tool."""
    match event:
        case TextDelta(text=text):
            return repr(text)
        case ToolCallStarted(name=name):
            return name
        case ToolCallDelta(arguments=arguments):
            return repr(arguments)
        case ToolCallEnded(call=call) | ToolStarted(call=call):
            return shorten(f"{call.name} {call.arguments}", 60)
        case ToolFinished(result=result):
            return shorten(repr(result.text), 60)
        case ReplyStarted():
            return ""
        case ReplyEnded(error=error):
            return "whole" if error is None else "not whole"
        case _:
            return None


# endregion: shown


# The facts


def check_arrival(facts: Facts, arrival: Arrival, seen: Observed) -> None:
    """What must hold whoever the model is."""
    replies = [each for each in seen.history if isinstance(each, AssistantMessage)]
    told = list(whole_replies(arrival.events))
    facts.equal("every reply was told while it arrived", [reply for reply, _ in told], replies)
    facts.equal(
        "the pieces of text, put together, are what the model said",
        [told_text(pieces) for _, pieces in told],
        [reply.text for reply in replies],
    )
    facts.equal(
        "the pieces of arguments, put together, are those of the calls",
        [told_arguments(pieces) for _, pieces in told],
        [[call.arguments for call in reply.calls] for reply in replies],
    )
    facts.equal("no tool started while a reply was arriving", too_early(arrival.events), [])


def check_server(
    facts: Facts, arrival: Arrival, requests: Sequence[Received], waited: Sequence[float]
) -> None:
    """What must hold of the script: what it held back, and what it refused at first."""
    facts.check("the first words were seen before the server sent the rest", arrival.held)
    pieces = [event for event in arrival.events if isinstance(event, ToolCallDelta)]
    facts.check("the arguments of the call came in several pieces", len(pieces) > 2, len(pieces))
    again = [event for event in arrival.events if isinstance(event, RetryScheduled)]
    facts.equal("the server was asked three times", len(requests), 3)
    facts.check(
        "after the 429 the very same request was sent again",
        len(again) == 1 and requests[-1].body == requests[-2].body,
        again,
    )
    facts.equal("before that the agent waited as long as it was told", [*waited], [float(WAIT)])


def whole_replies(events: Iterable[Event]) -> Iterator[tuple[AssistantMessage, list[Event]]]:
    """Each reply that arrived whole, with what was told of it before."""
    pieces: list[Event] = []
    for event in events:
        match event:
            case ReplyStarted():
                pieces = []
            case ReplyEnded(reply=AssistantMessage() as reply):
                yield reply, pieces
            case _:
                pieces.append(event)


def told_text(pieces: Iterable[Event]) -> str:
    """The text, put together."""
    return "".join([piece.text for piece in pieces if isinstance(piece, TextDelta)])


def told_arguments(pieces: Iterable[Event]) -> list[str]:
    """The arguments of each call, put together."""
    arguments: dict[int, str] = {}
    for piece in pieces:
        if isinstance(piece, ToolCallStarted):
            arguments[piece.part] = ""
        elif isinstance(piece, ToolCallDelta):
            arguments[piece.part] += piece.arguments
    return list(arguments.values())


def too_early(events: Iterable[Event]) -> list[str]:
    """The tools that started between the beginning of a reply and its end."""
    found, arriving = [], False
    for event in events:
        match event:
            case ReplyStarted():
                arriving = True
            case ReplyEnded():
                arriving = False
            case ToolStarted(call=call) if arriving:
                found.append(call.name)
    return found
