"""Rows of the mode `stream`: an answer in events is played, and judged like one in one piece.

It is judged more strictly, too: what a listener is told while it arrives has to be in order, and
has to be what the reply says in the end.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import httpx2

from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.adapters import Access
from chapters.ch04.conformance.answers import (
    KEY,
    MODEL,
    PATIENCE,
    Played,
    exchange,
    judge,
    judge_requests,
    stop_of,
)
from chapters.ch04.conformance.rows import Json, Row
from chapters.ch04.conformance.suite import Player
from chapters.ch04.conformance.verdicts import Difference, differ
from chapters.ch04.provider import Provider
from chapters.ch05.adapters import open_streaming_model
from chapters.ch05.stream_order import Told, told_of
from shared.errors import ProviderError, ToolError
from shared.messages import AssistantMessage, StopReason, Text, Thinking, ToolCall
from shared.ports import Model
from shared.provider_server import ProviderServer

LENGTH = "_len"  # behind the name of an argument: how many characters its text has


def connect(
    server: ProviderServer, provider: Provider, timeout: float
) -> AbstractAsyncContextManager[Model]:
    """The streaming model of a record behind a server of ours; no proxy is asked."""
    access = Access(server.base_url, KEY, MODEL)
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return open_streaming_model(
        provider, access, timeout=PATIENCE, idle=timeout, transport=transport
    )


# region: play
async def play(row: Row, provider: Provider) -> list[Difference]:
    """Play the answer of a row in events, and compare."""
    played = await exchange(row, provider, connect)
    told = told_of(played.told)
    return [
        *judge_reply(row.expect, played, told),
        *judge_requests(row.expect, played),
        *judge_told(row.expect, played, told),
    ]


PLAYERS: Mapping[str, Player] = {"stream": play}
# endregion: play


# region: reply
def judge_reply(expect: Json, played: Played, told: Told) -> Iterator[Difference]:
    """The reply, as one that came in one piece is judged."""
    got, said = played.got, (expect.get("message") or {}).get("text")
    if isinstance(got, AssistantMessage):
        got = with_lengths(got, expect)
        if "custom_calls" in expect:
            yield from differ("custom_calls", expect["custom_calls"], custom_calls(got, expect))
            got = without(got, expect["custom_calls"])
        if got.stop is StopReason.REFUSAL and not said and not told.text:
            content = [part for part in got.content if not isinstance(part, Text)]
            got = replace(got, content=tuple(content))  # the reason why, which nobody has said
    yield from judge(expect, got)


def with_lengths(reply: AssistantMessage, expect: Json) -> AssistantMessage:
    """The reply with lengths in place of texts, where a row has the lengths only."""
    calls = (expect.get("message") or {}).get("tool_calls") or []
    names = {
        name for call in calls for name in call.get("arguments") or () if str(name).endswith(LENGTH)
    }
    if not names:
        return reply

    def measured(call: ToolCall) -> ToolCall:
        try:
            arguments = parse_arguments(call.arguments)
        except ToolError:
            return call
        for name in names:
            text = arguments.pop(name.removesuffix(LENGTH), None)
            if isinstance(text, str):
                arguments[name] = len(text)
        return replace(call, arguments=json.dumps(arguments))

    content = [measured(part) if isinstance(part, ToolCall) else part for part in reply.content]
    return replace(reply, content=tuple(content))


def custom_calls(reply: AssistantMessage, expect: Json) -> list[Json]:
    """The calls of tools that take text and no JSON, which we never offer."""
    names = {call.get("name") for call in expect["custom_calls"]}
    return [
        {"id": call.id, "name": call.name, "input": call.arguments}
        for call in reply.calls
        if call.name in names
    ]


def without(reply: AssistantMessage, customs: Sequence[Json]) -> AssistantMessage:
    """The reply without such calls. They are answered like any other, as calls of no tool."""
    names = {call.get("name") for call in customs}
    content = [
        part for part in reply.content if not isinstance(part, ToolCall) or part.name not in names
    ]
    kept = replace(reply, content=tuple(content))
    if reply.stop is StopReason.TOOL_USE and not kept.calls:
        return replace(kept, stop=StopReason.END_TURN)
    return kept


# endregion: reply


# region: told
def judge_told(expect: Json, played: Played, told: Told) -> Iterator[Difference]:
    """What a listener was told."""
    for fault in told.faults:
        yield Difference("told", "events in order", fault)
    yield from differ("told.ends", played.requests, told.ends)
    got = played.got
    if isinstance(got, ProviderError):
        if expect.get("error"):  # an error that nobody expected has been told already
            yield from told_of_half(expect.get("message") or {}, told)
        return
    if expect.get("error"):  # nobody may have to look whether a reply is one
        yield from differ("told.end", "an error", f"a reply ({got.stop})")
    # A sentence may come with the end of a reply and not in pieces: why it was refused.
    if told.text or got.finish != "refusal":
        yield from differ("told.text", got.text, told.text)
    thoughts = "".join([part.text for part in got.content if isinstance(part, Thinking)])
    yield from differ("told.reasoning", thoughts, told.thinking)
    calls = [[call.name, call.arguments] for call in got.calls]
    yield from differ("told.calls", calls, [[call.name, call.arguments] for call in told.calls])
    if expect.get("events") and not expect.get("error"):
        in_order = events_of(told, got, expect)
        texts_first = [*joined_texts(in_order), *[each for each in in_order if each[0] != "text"]]
        if expect["events"] != texts_first:  # a row may list all the text before the calls
            yield from differ("events", expect["events"], in_order)


def told_of_half(expect: Json, told: Told) -> Iterator[Difference]:
    """What was shown of a reply that is none. Its statuses say nothing: nothing of it runs."""
    yield from differ("told.text", expect.get("text", ""), told.text)
    if "reasoning" in expect:
        yield from differ("told.reasoning", expect["reasoning"], told.thinking)
    calls: list[Json] = expect.get("tool_calls") or []
    names = [call.get("name") for call in calls]
    yield from differ("told.calls", names, [call.name for call in told.calls])
    for number, (call, got) in enumerate(zip(calls, told.calls, strict=False)):
        where = f"told.calls[{number}]"
        if call.get("id"):
            yield from differ(f"{where}.id", call["id"], got.id)
        if "raw" in call:
            yield from differ(f"{where}.raw", call["raw"], got.arguments)
        if "arguments" in call:
            yield from differ(f"{where}.arguments", call["arguments"], _parsed(got))


def _parsed(call: ToolCall) -> Any:
    try:
        return parse_arguments(call.arguments)
    except ToolError:
        return None


def joined_texts(events: list[Any]) -> list[Any]:
    """All the text of a reply as one entry; none if there is no text."""
    text = "".join([each[1] for each in events if each[0] == "text"])
    return [["text", text]] if text else []


def events_of(told: Told, reply: AssistantMessage, expect: Json) -> list[Any]:
    """What was told, in the words of a row: texts and calls, tokens, why it ended."""
    ids = iter([call.id for call in reply.calls])
    events: list[Any] = []
    for part in told.parts:
        if isinstance(part, ToolCall):
            events.append(["tool_call", next(ids, part.id), part.name, _parsed(part)])
        elif events and events[-1][0] == "text":
            events[-1][1] += part
        elif part:
            events.append(["text", part])
    if usage := reply.usage:
        tokens = {"input": usage.input_tokens, "output": usage.output_tokens}
        events.append(["usage", tokens])
    return [*events, ["stop", stop_of(reply, expect)]]


# endregion: told
