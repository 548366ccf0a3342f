"""Rows of the mode `nonstream`: an answer is played, and what the adapter made of it is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Any

import httpx2

from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.adapters import Access, open_model
from chapters.ch04.conformance.rows import Json, Row
from chapters.ch04.conformance.verdicts import Difference, differ
from chapters.ch04.live import ProviderModel
from chapters.ch04.one_round import nobody_listens
from chapters.ch04.provider import Provider
from shared.errors import ProviderError, ToolError
from shared.events import Emit, Event
from shared.messages import (
    FINISHED,
    AssistantMessage,
    Message,
    Request,
    StopReason,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.ports import Model
from shared.provider_server import Answer, Ending, ProviderServer, Received

KEY, MODEL = "a-key-of-nobody", "a-model"
OFFERED = ("get_weather", "read_file", "write_file", "list_dir", "get_time", "send_money", "search")
TOOLS = tuple(
    ToolSpec(name, f"The tool {name}.", {"type": "object", "properties": {}}) for name in OFFERED
)
PATIENCE = 30.0  # seconds, for an answer
LONGEST_WAIT = 2.0  # seconds, before a suite asks again
Connect = Callable[[ProviderServer, Provider, float], AbstractAsyncContextManager[Model]]
ENDINGS = {"clean": Ending.WHOLE, "abort": Ending.DROPPED, "hang": Ending.HANGING}
TYPES = {"json": "application/json", "html": "text/html", "sse": "text/event-stream"}

# What our stop reasons are called in a set where the provider's own word says more.
BY_FINISH = {
    "stop_sequence": "stop_sequence",
    "pause_turn": "pause",
    "model_context_window_exceeded": "context_window",
    "MALFORMED_FUNCTION_CALL": "malformed_call",
}
BLOCKED = {"content_filter", "refusal"}
DECLINED = {StopReason.CONTENT_FILTER, StopReason.REFUSAL}


def connect(server: ProviderServer, provider: Provider, timeout: float = PATIENCE) -> ProviderModel:
    """The model of a record behind a server of ours; no proxy of the machine is asked."""
    access = Access(server.base_url, KEY, MODEL)
    # There is no TLS on the way to 127.0.0.1, and certificates take longer to load than a row does.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return open_model(provider, access, timeout=timeout, transport=transport)


# region: play
@dataclass(frozen=True, slots=True)
class Played:
    """What came of an answer, what a listener was told of it, and what was asked for.

    `requests` is how many requests it took; `afterwards` are those that came after the reply.
    """

    got: AssistantMessage | ProviderError
    told: tuple[Event, ...]
    requests: int
    afterwards: tuple[Received, ...]


async def play(row: Row, provider: Provider) -> list[Difference]:
    """Play the answer of a row, and compare."""
    played = await exchange(row, provider, connect)
    return [*judge(row.expect, played.got), *judge_requests(row.expect, played)]


async def exchange(row: Row, provider: Provider, connect: Connect) -> Played:
    """Play the answer of a row to a model that `connect` opens."""
    timeout = float(row.http.get("client_timeout_s", PATIENCE))
    script = script_of(row)
    told: list[Event] = []
    with ProviderServer(*script, script[-1]) as server:
        async with connect(server, provider, timeout) as model:
            history: list[Message] = [UserMessage("Go on.")]
            retries = int(row.http.get("client_retries", 0))
            got = await ask(model, history, retries, told.append)
            asked = len(server.requests)
            if row.expect.get("echo") and isinstance(got, AssistantMessage):
                await ask(model, [*history, *round_after(got)], 0)
        return Played(got, tuple(told), asked, tuple(server.requests[asked:]))


def script_of(row: Row) -> list[Answer]:
    """The answers that the server gives, one after another."""
    http = row.http
    before = [
        Answer(
            entry.get("body", ""),
            entry.get("status", 200),
            entry.get("content_type", "application/json"),
            entry.get("headers", {}),
        )
        for entry in http.get("before", [])
    ]
    last = Answer(
        row.content,
        http.get("status", 200),
        http.get("content_type") or TYPES.get(row.file.rpartition(".")[2], "application/json"),
        http.get("headers", {}),
        http.get("split_every"),
        ENDINGS[http.get("end", "clean")],
    )
    return [*before, last]


async def ask(
    model: Model, history: Sequence[Message], retries: int, emit: Emit = nobody_listens
) -> AssistantMessage | ProviderError:
    """One reply or the last error. Asks again while that may help and need not be waited for."""
    while True:
        try:
            return await model.reply(Request(tuple(history), TOOLS), emit)
        except ProviderError as error:
            wait = error.retry_after or 0.0
            if not retries or not error.retryable or wait > LONGEST_WAIT:
                return error
            retries -= 1
            await asyncio.sleep(wait)


def round_after(reply: AssistantMessage) -> list[Message]:
    """What follows a reply: results for its calls, or a person's next words."""
    results: list[Message] = [ToolResult(call.id, call.name, "ok") for call in reply.calls]
    return [reply, *(results or [UserMessage("And then?")])]


# endregion: play


# region: judge
def judge(expect: Json, got: AssistantMessage | ProviderError) -> Iterator[Difference]:
    """What is not as the row has it. Of a failure only the error counts: nothing of it is used."""
    error = error_of(got)
    accepted = [expect.get("error"), *([expect["alt_error"]] if expect.get("alt_error") else [])]
    found = [list(error_differences(each, error)) for each in accepted]
    if all(found):
        yield from found[0]
    if isinstance(got, ProviderError) or any(accepted):
        return
    yield from differ("stop_reason", expect.get("stop_reason"), stop_of(got, expect))
    yield from message_differences(expect.get("message") or {}, got)


def judge_requests(expect: Json, played: Played) -> Iterator[Difference]:
    """How often the provider was asked, and what came back to it as it had said it."""
    if "requests" in expect:
        yield from differ("requests", expect["requests"], played.requests)
    for item in expect.get("echo") or []:
        if not any(holds(request.body, item) for request in played.afterwards):
            yield Difference("echo", str(item), "not in the next request, or changed")


def error_of(got: AssistantMessage | ProviderError) -> ProviderError | None:
    """The error of a reply that came, but is none: nobody knows whether it is whole."""
    if isinstance(got, ProviderError):
        return got
    if got.stop is StopReason.MISSING:
        return ProviderError("no finish reason", kind="incomplete_stream", retryable=True)
    return None


def error_differences(expected: Json | None, got: ProviderError | None) -> Iterator[Difference]:
    """The fields of an error that a row names."""
    if expected is None or got is None:
        yield from differ("error", expected, got if got is None else f"{got.kind}: {got}")
        return
    for name, value in expected.items():
        said = getattr(got, name, None)
        if name == "code":
            value, said = (each if each is None else str(each) for each in (value, said))
        if name == "retry_after":
            value, said = (each if each is None else float(each) for each in (value, said))
        yield from differ(f"error.{name}", value, said)


def stop_of(reply: AssistantMessage, expect: Json) -> str:
    """Why a reply ended, in the words of a set."""
    said = BY_FINISH.get(reply.finish, str(reply.stop)) if not reply.calls else str(reply.stop)
    # Two words for one thing: nothing more is to be had from the model.
    return str(expect.get("stop_reason")) if {said, expect.get("stop_reason")} == BLOCKED else said


def message_differences(expect: Json, reply: AssistantMessage) -> Iterator[Difference]:
    """Text, thinking, calls and tokens."""
    yield from differ("text", expect.get("text", ""), reply.text)
    if "reasoning" in expect:
        thoughts = [part.text for part in reply.content if isinstance(part, Thinking)]
        yield from differ("reasoning", expect["reasoning"], "".join(thoughts))
    calls: list[Json] = expect.get("tool_calls") or []
    names = [call.get("name") for call in calls]
    yield from differ("calls", names, [call.name for call in reply.calls])
    if len(calls) == len(reply.calls):
        for number, (call, got) in enumerate(zip(calls, reply.calls, strict=True)):
            yield from call_differences(f"calls[{number}]", call, got, reply)
    ids = [call.id for call in reply.calls]
    if not all(ids) or len(set(ids)) < len(ids):
        yield Difference("ids", "one for each call, and each once", str(ids))
    usage = reply.usage
    got_usage = usage and {"input": usage.input_tokens, "output": usage.output_tokens}
    if "usage" in expect or usage:
        yield from differ("usage", expect.get("usage"), got_usage)


def call_differences(
    where: str, expect: Json, call: ToolCall, reply: AssistantMessage
) -> Iterator[Difference]:
    """One call: its id if it came with one, what becomes of it, its arguments."""
    if expect.get("id") is not None:
        yield from differ(f"{where}.id", expect["id"], call.id)
    if "signature" in expect:
        yield from differ(f"{where}.signature", expect["signature"], bool(call.signature))
    status, arguments = treated(call, reply)
    wanted = expect.get("status", "ok")
    if wanted == "ok" and reply.stop in DECLINED and arguments is not None:
        status = "ok"  # nothing of such a reply runs: a row can only mean the arguments
    yield from differ(f"{where}.status", wanted, status)
    if "arguments" in expect:
        yield from differ(f"{where}.arguments", expect["arguments"], arguments)
    if "raw" in expect:
        nothing = not expect["raw"] and call.arguments == "{}"  # some APIs begin with an object
        yield from differ(f"{where}.raw", expect["raw"], "" if nothing else call.arguments)


def treated(call: ToolCall, reply: AssistantMessage) -> tuple[str, Any]:
    """What an agent of ours does with a call, and the arguments it would be run with."""
    try:
        arguments: Any = parse_arguments(call.arguments)
    except ToolError:
        arguments = None
    if reply.stop not in FINISHED and call is reply.calls[-1]:
        return "truncated", arguments
    if call.name not in OFFERED:
        return "unknown_tool", arguments
    return ("bad_arguments" if arguments is None else "ok"), arguments


# endregion: judge


def holds(container: Any, item: Any) -> bool:
    """True if `item` stands somewhere in `container`, with everything in it."""
    if container == item:
        return True
    if isinstance(container, list):
        return any(holds(inner, item) for inner in container)
    if not isinstance(container, dict):
        return False
    same = isinstance(item, dict) and all(
        name in container and container[name] == value for name, value in item.items()
    )
    return same or any(holds(inner, item) for inner in container.values())
