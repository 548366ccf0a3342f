"""When a call runs: after its reply has ended, for a reason that allows it, if it validates."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from chapters import ch05
from chapters.ch01.endpoint import Endpoint
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.preview import Preview
from chapters.ch05.stream_errors import silent
from chapters.ch05.streaming import StreamingModel
from chapters.ch05.tests.bodies import CHAT, chunk, fragment
from chapters.ch05.validation import STRICT, json_schema_tool
from shared.errors import ProviderError
from shared.events import Event, ToolCallDelta
from shared.messages import ToolResult, ToolSpec
from shared.testing import fake_kit
from shared.tools import Effect

pytestmark = pytest.mark.anyio
ENDPOINT = Endpoint("http://127.0.0.1:1/v1", "sk-test-0123456789", "a-model")
PAY = ToolSpec(
    "pay",
    "Pay an amount.",
    {
        "type": "object",
        "properties": {"amount": {"type": "integer"}},
        "required": ["amount"],
        "additionalProperties": False,
    },
)
DONE = (chunk(content="Done."), chunk("stop"))


class Streams:
    """A source of one stream after the other. What can be called is no event: it is called."""

    def __init__(self, *streams: Sequence[Any]) -> None:
        self.endpoint = ENDPOINT
        self._streams = list(streams)

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncGenerator[AsyncIterator[Any], None]:
        yield self._read(self._streams.pop(0))

    async def _read(self, events: Sequence[Any]) -> AsyncIterator[Any]:
        for event in events:
            if isinstance(event, BaseException):
                raise event
            if not callable(event):
                yield event
                continue
            for _ in range(20):  # whoever wants to begin has had the time
                await asyncio.sleep(0)
            event()

    async def aclose(self) -> None:
        pass


@dataclass
class Paid:
    """A run of the whole agent, which has a tool that pays."""

    amounts: list[int] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    error: ProviderError | None = None

    async def pay(self, arguments: dict[str, Any]) -> str:
        """The handler of the tool."""
        self.amounts.append(arguments["amount"])
        return "Paid."

    async def run(self, *streams: Sequence[Any], listener: Callable[[Event], None]) -> None:
        """Ask once, and keep what came of it."""
        tool = json_schema_tool(PAY, Effect.READ, self.pay, STRICT)
        kit = fake_kit(StreamingModel(CHAT, CHAT_STREAM, Streams(*streams)))
        plan = ch05.plan(kit).with_tools(tool).with_listeners(self.events.append, listener)
        conversation = plan.build(kit)
        try:
            await conversation.ask("Pay.")
        except ProviderError as error:
            self.error = error
        self.results = [each for each in conversation.history if isinstance(each, ToolResult)]


def asked(*pieces: str) -> list[Any]:
    """The chunks of a call whose arguments come in these pieces; the reply has not ended."""
    first = fragment(pieces[0], "pay", index=0, id="a")
    rest = [fragment(piece, index=0) for piece in pieces[1:]]
    return [chunk(tool_calls=[each]) for each in (first, *rest)]


def ignore(event: Event) -> None:
    """A listener that looks away."""


WHOLE = '{"amount": 1200}'
ENDS: list[tuple[str, str, Any, list[int], list[str | None]]] = [
    ("it ends, and calls are its reason", WHOLE, chunk("tool_calls"), [1200], [None]),
    ("it ends at the limit", WHOLE, chunk("length"), [], ["reply_cut_off"]),
    ("it drops", WHOLE, silent(ENDPOINT, 1), [], []),
    ("it is an error after all", WHOLE, {"error": {"code": "overloaded"}}, [], []),
    ("it says no more", WHOLE, None, [], []),
    (
        "its arguments do not validate",
        '{"amount": "x"}',
        chunk("tool_calls"),
        [],
        ["invalid_arguments"],
    ),
    ("its arguments are half", '{"amount": 12', chunk("tool_calls"), [], ["invalid_json"]),
]


@pytest.mark.parametrize(
    ("arguments", "end", "paid", "codes"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS]
)
async def test_a_call_with_whole_arguments_runs_only_after_the_reply_has_ended(
    arguments: str, end: Any, paid: list[int], codes: list[str | None]
) -> None:
    run = Paid()
    then: list[list[int]] = []

    def look() -> None:
        arrived = [event.arguments for event in run.events if isinstance(event, ToolCallDelta)]
        assert "".join(arrived) == arguments
        then.append([*run.amounts])

    reply = [*asked(arguments), look, *([end] if end is not None else [])]
    await run.run(reply, DONE, listener=ignore)
    assert run.error is None
    assert then == [[]], "all of the call has come, and nothing has begun"
    assert run.amounts == paid
    assert [result.code for result in run.results] == codes


@pytest.mark.parametrize(("end", "paid"), [("tool_calls", [1200]), ("length", [])])
async def test_a_preview_may_show_half_a_number(end: str, paid: list[int]) -> None:
    """And it is a number that nobody has meant: what runs is the whole text, or nothing."""
    preview = Preview()
    shown: list[object] = []

    def watch(event: Event) -> None:
        if isinstance(event, ToolCallDelta):
            preview.feed(event.arguments)
            shown.append(preview.whole())

    pieces = ('{"amount": 12', "00}") if paid else ('{"amount": 12',)
    run = Paid()
    await run.run([*asked(*pieces), chunk(end)], DONE, listener=watch)
    assert shown == [{"amount": 12}, {"amount": 1200}][: len(pieces)]
    assert run.amounts == paid
