"""Answers in pieces, for the tests: chunks and events as they are on the wire."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch04.wire import encode, to_body
from chapters.ch05.accumulator import StreamWire
from chapters.ch05.stream_order import told_of
from shared.events import Event, ReplyEnded, ReplyStarted, StreamEvent
from shared.messages import (
    AssistantMessage,
    Message,
    Request,
    ToolResult,
    ToolSpec,
    UserMessage,
)

NAMES = ("get_weather", "get_time", "read", "read_file")
TOOLS = tuple(ToolSpec(name, name, {"type": "object", "properties": {}}) for name in NAMES)
OFFERED = frozenset(NAMES)
CHAT = Target(KNOWN["openai"], "a-model")
RESPONSES = Target(KNOWN["openai-responses"], "a-model")


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a chat completion."""
    return {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def fragment(arguments: Any = None, name: Any = None, **rest: Any) -> dict[str, Any]:
    """An entry of `tool_calls`; what is None is left out."""
    said = {"name": name, "arguments": arguments}
    return {**rest, "function": {key: value for key, value in said.items() if value is not None}}


def calls(*fragments: dict[str, Any]) -> list[dict[str, Any]]:
    """Chunks with one fragment each, and the end."""
    return [*[chunk(tool_calls=[one]) for one in fragments], chunk("tool_calls")]


def sse(*events: Any, done: bool = False) -> bytes:
    """A body of events; text and bytes stand for themselves."""
    said = [each if isinstance(each, str) else json.dumps(each) for each in events]
    return "".join(
        [f"data: {each}\n\n" for each in [*said, *(["[DONE]"] if done else [])]]
    ).encode()


def split(body: bytes) -> Iterator[Any]:
    """The events of a body that is well formed."""
    for event in body.decode().replace("\r\n", "\n").split("\n\n"):
        data = [line[5:].strip() for line in event.split("\n") if line.startswith("data:")]
        if data and data != ["[DONE]"]:
            yield json.loads("\n".join(data))


def put_together(
    wire: StreamWire, target: Target, events: Iterable[Any], offered: frozenset[str] = OFFERED
) -> tuple[list[StreamEvent], AssistantMessage]:
    """What is told of a reply, and the reply, as a model would return it."""
    arriving = wire.accumulator(offered)
    told = [each for event in events for each in arriving.feed(event)]
    assert arriving.finished
    told += arriving.end()
    return told, wire.wire.reply(arriving.answer(), target)


def faults(told: Sequence[Event], reply: AssistantMessage) -> tuple[str, ...]:
    """What is out of order in what was told of a reply."""
    return told_of([ReplyStarted(), *told, ReplyEnded(reply, None)]).faults


def send_back(target: Target, wire: StreamWire, reply: AssistantMessage) -> bytes:
    """The next request, with the reply in its history."""
    reply = replace(reply, origin=target.origin)
    results = [ToolResult(call.id, call.name, "ok") for call in reply.calls]
    history: list[Message] = [UserMessage("go"), reply, *results, UserMessage("on")]
    return encode(to_body(wire.wire, Request(history, TOOLS), target))


def garbled(chance: random.Random, value: Any, words: Sequence[Any]) -> Any:
    """A value with some of it left out, replaced or said twice."""
    if chance.random() < 0.08:
        return chance.choice(words)
    if isinstance(value, dict):
        return {
            key: garbled(chance, inner, words)
            for key, inner in value.items()
            if chance.random() > 0.05
        }
    if isinstance(value, list):
        kept = [garbled(chance, inner, words) for inner in value if chance.random() > 0.05]
        return kept * chance.choice([1, 1, 1, 2])
    return value
