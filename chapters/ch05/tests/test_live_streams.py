"""Streamed replies of Anthropic and Gemini, from the first byte to the next request.

The clients are real, and so is HTTP; only the provider is a script.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chapters.ch04.adapters import Access
from chapters.ch04.conformance.adapters import OF_API, api_of
from chapters.ch04.conformance.rows import Row, load
from chapters.ch04.gemini_client import installed
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Provider
from chapters.ch05.adapters import open_streaming_model
from chapters.ch05.stream_conformance import play
from chapters.ch05.stream_order import told_of
from chapters.ch05.streaming import StreamingModel
from shared.errors import ProviderError
from shared.events import Event, ReplyEnded, ReplyStarted, TextDelta
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, Ending, InPieces, ProviderServer

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).resolve().parents[3]
ROWS = [
    row
    for row in load(ROOT / "tests" / "vectors" / "wire")
    if row.mode == "stream" and api_of(row) in (Api.ANTHROPIC, Api.GEMINI)
]
KEY = "sk-test-0123456789abcdefghij"
EVENTS = "text/event-stream"
SPEC = ToolSpec("look", "Look", {"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        kind = name.split("_")[0]
        if name.lower().endswith("_proxy") or kind in ("ANTHROPIC", "GOOGLE", "GEMINI"):
            monkeypatch.delenv(name)


# What real servers and public reports have shown.


@pytest.mark.parametrize("bytewise", [False, True], ids=["whole", "bytewise"])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.file)
async def test_a_known_stream_is_understood(row: Row, bytewise: bool) -> None:
    api = api_of(row)
    assert api is not None
    needs(OF_API[api])
    if bytewise:
        row = replace(row, http={**row.http, "split_every": 1})
    assert await play(row, OF_API[api]) == []


def test_there_are_rows_of_both() -> None:
    assert {api_of(row) for row in ROWS} == {Api.ANTHROPIC, Api.GEMINI}


# A whole round.


def needs(provider: Provider) -> None:
    """Gemini's client is optional."""
    if provider.api is Api.GEMINI and not installed():
        pytest.skip("pip install -e '.[gemini]' to run this too")


def anthropic(*events: dict[str, Any]) -> list[bytes]:
    """Events as Anthropic sends them."""
    return [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events]


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *[{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": index},
    ]


def tool_use(index: int, call_id: str, *pieces: str) -> list[dict[str, Any]]:
    """The events of one call."""
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": call_id, "name": "look", "input": {}}, *deltas)


def ended(reason: str) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def gemini(*parts: dict[str, Any], finish: str = "STOP") -> list[bytes]:
    """Events as Gemini sends them: one for each part."""
    events: list[dict[str, Any]] = [{"content": {"parts": [part]}} for part in parts]
    said = [{"candidates": [each]} for each in [*events, {"finishReason": finish}]]
    return [f"data: {json.dumps(each)}\n\n".encode() for each in said]


MADE = [f"call_{number:024x}" for number in range(4)]  # they go to nobody
THOUGHT: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "dGhvdWdodA=="}
ASKED: list[dict[str, Any]] = [
    {"text": "hm", "thought": True},
    {"functionCall": {"name": "look", "args": {"n": 1}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "look", "args": {}}},
    {"text": "", "thoughtSignature": "ZW5k"},
]


@dataclass(frozen=True)
class Round:
    """A reply with two calls, the one after it, and how the first one goes back."""

    provider: Provider
    calling: list[bytes]
    answering: list[bytes]
    content: Sequence[Text | Thinking | ToolCall]
    field: str
    goes_back: list[dict[str, Any]]


ROUNDS = [
    Round(
        KNOWN["anthropic"],
        anthropic(
            {"type": "message_start", "message": {"usage": {"input_tokens": 3}}},
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "h"},
                {"type": "thinking_delta", "thinking": "m"},
                {"type": "signature_delta", "signature": THOUGHT["signature"]},
            ),
            *tool_use(1, "t1", '{"n"', ": 1}"),
            *tool_use(2, "t2"),
            ended("tool_use"),
        ),
        anthropic(
            *block(0, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Done."}),
            ended("end_turn"),
        ),
        (
            Thinking("hm", THOUGHT["signature"]),
            ToolCall("t1", "look", '{"n": 1}'),
            ToolCall("t2", "look", ""),
        ),
        "messages",
        [
            THOUGHT,
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1}},
            {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
        ],
    ),
    Round(
        KNOWN["gemini"],
        gemini(*ASKED),
        gemini({"text": "Do"}, {"text": "ne."}),
        (
            Thinking("hm"),
            ToolCall(MADE[0], "look", '{"n": 1}', "c2ln"),
            ToolCall(MADE[1], "look", "{}"),
            Text("", "ZW5k"),
        ),
        "contents",
        ASKED,
    ),
]
NAMES = [each.provider.name for each in ROUNDS]


def connected(server: ProviderServer, provider: Provider, **options: Any) -> StreamingModel:
    needs(provider)
    access = Access(server.base_url.removesuffix("/v1"), KEY, "a-model")
    # There is no TLS on the way to 127.0.0.1, and certificates take long to load.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return open_streaming_model(provider, access, transport=transport, **options)


def streamed(events: list[bytes], ending: Ending = Ending.WHOLE) -> Answer:
    return Answer(InPieces(events), content_type=EVENTS, ending=ending)


@pytest.mark.parametrize("case", ROUNDS, ids=NAMES)
async def test_a_round_with_two_calls_goes_there_and_back(case: Round) -> None:
    told: list[Event] = []
    with ProviderServer(streamed(case.calling), streamed(case.answering)) as server:
        async with connected(server, case.provider) as model:
            made = iter(MADE)
            model._new_id = lambda: next(made)
            history = History([UserMessage("Look.")])
            reply = await model.reply(Request(history.view(), (SPEC,)), told.append)
            assert tuple(reply.content) == tuple(case.content)
            assert reply.stop is StopReason.TOOL_USE
            history.append(reply)
            for call in reply.calls:
                history.append(ToolResult(call.id, call.name, "ok"))
            answer = await model.reply(Request(history.view(), (SPEC,)), told.append)
    assert (answer.text, answer.stop) == ("Done.", StopReason.END_TURN)
    heard = told_of(told)
    assert heard.faults == ()
    assert heard.text == "Done."
    _, back, results = server.requests[1].body[case.field][:3]
    assert back.get("content", back.get("parts")) == case.goes_back
    assert len(results.get("content", results.get("parts"))) == 2


@pytest.mark.parametrize("case", ROUNDS, ids=NAMES)
async def test_every_cut_of_a_stream_is_an_error_and_no_reply(case: Round) -> None:
    """Behind any event but the last one that counts: clean or not, nothing of it comes out."""
    needs(case.provider)
    whole = case.calling
    answers = [
        streamed(whole[:length], ending)
        for length in range(len(whole))
        for ending in (Ending.WHOLE, Ending.DROPPED)
    ]
    told: list[Event] = []
    with ProviderServer(*answers) as server:
        async with connected(server, case.provider) as model:
            for answer in answers:
                told.clear()
                with pytest.raises(ProviderError) as caught:
                    await model.reply(Request((UserMessage("x"),), (SPEC,)), told.append)
                kinds = (
                    {"connection"}
                    if answer.ending is Ending.DROPPED
                    else {"incomplete_stream", "bad_response"}
                )
                assert caught.value.kind in kinds
                assert caught.value.retryable
                assert told[-1] == ReplyEnded(None, caught.value)
                assert told_of(told).faults == ()


@pytest.mark.parametrize("case", ROUNDS, ids=NAMES)
async def test_text_is_shown_before_the_reply_has_ended(case: Round) -> None:
    with ProviderServer(streamed(case.answering[:2], Ending.HANGING)) as server:
        async with connected(server, case.provider) as model:
            shown = asyncio.Event()

            def listen(event: Event) -> None:
                if isinstance(event, TextDelta):
                    shown.set()

            request = Request((UserMessage("x"),), (SPEC,))
            asking = asyncio.create_task(model.reply(request, listen))
            await asyncio.wait_for(shown.wait(), 10)
            assert not asking.done()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(server.hung_up.wait, 5)


CUT_OFF = [
    (
        KNOWN["anthropic"],
        anthropic(*tool_use(0, "t1", '{"amount": 12'), ended("max_tokens")),
        '{"amount": 12',
    ),
    (
        KNOWN["gemini"],
        gemini({"functionCall": {"name": "look", "args": {"n": 1}}}, finish="MAX_TOKENS"),
        '{"n": 1}',
    ),
]


@pytest.mark.parametrize(("provider", "events", "raw"), CUT_OFF, ids=NAMES)
async def test_a_reply_at_its_limit_says_so_whatever_its_calls_look_like(
    provider: Provider, events: list[bytes], raw: str
) -> None:
    with ProviderServer(streamed(events)) as server:
        async with connected(server, provider) as model:
            reply = await model.reply(Request((UserMessage("x"),), (SPEC,)), lambda event: None)
    assert reply.stop is StopReason.MAX_TOKENS
    assert [call.arguments for call in reply.calls] == [raw]


@pytest.mark.parametrize("case", ROUNDS, ids=NAMES)
async def test_an_error_before_the_first_event_is_told_as_an_end_alone(case: Round) -> None:
    told: list[Event] = []
    refusal = Answer({"error": {"message": "no", "code": 429}}, status=429)
    with ProviderServer(refusal) as server:
        async with connected(server, case.provider) as model:
            with pytest.raises(ProviderError) as caught:
                await model.reply(Request((UserMessage("x"),)), told.append)
    assert told == [ReplyEnded(None, caught.value)]
    assert not any(isinstance(each, ReplyStarted | AssistantMessage) for each in told)
