"""What `Fallback` promises: when the second model is asked, and when no longer."""

from __future__ import annotations

import asyncio
import json
from random import randint
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest

from chapters.ch01.connection_errors import too_slow
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.provider_errors import error_inside, redirected, refused
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.known_servers import KNOWN
from chapters.ch05.exercises.trial import StreamedModel, streaming_model
from chapters.ch05.stream_errors import incomplete
from shared.errors import ProviderError
from shared.events import Emit, Event, MessageAdded, ReplyEnded, ReplyStarted, RetryScheduled
from shared.messages import AssistantMessage, Request, StopReason, UserMessage
from shared.provider_server import Answer, ProviderServer, Received, completion, wire_call
from shared.provider_stream import EVENT_STREAM, chunk, sse, stream_of, streamed
from shared.scripted import call, says
from shared.testing import FakeClock, fake_kit

pytestmark = pytest.mark.anyio

AGAIN = "chapters/ch05/README.md#sending-it-again"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"
PIECES = "chapters/ch05/README.md#one-reply-piece-by-piece"
CHAPTER = "chapters/ch04/README.md"

REQUEST = Request((UserMessage("go"),))
ENDPOINT = Endpoint("http://127.0.0.1:9/v1", "a-key-that-is-long", "a-model")


def down(**fields: Any) -> ProviderError:
    """An error that may pass, and has not passed."""
    words = f"It is down ({token_hex(4)})."
    return ProviderError(words, kind="provider", **{"status": 503, "retryable": True, **fields})


Said = AssistantMessage | BaseException


class Model:
    """Replies, or raises; the last of its script again and again."""

    def __init__(self, *script: Said) -> None:
        self.requests: list[Request] = []
        self._script = script or (says("unasked"),)

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        self.requests.append(request)
        said = self._script[min(len(self.requests), len(self._script)) - 1]
        await asyncio.sleep(0)
        if isinstance(said, BaseException):
            raise said
        return said

    @property
    def asked(self) -> int:
        return len(self.requests)


class Trial:
    """Two models and a clock, and the layer between them."""

    def __init__(self, target: ModuleType, first: Model, second: Model, rest: float = 60) -> None:
        self.first, self.second = first, second
        self.clock = FakeClock(time=randint(1, 10_000))
        self.model = target.falling_back(second, self.clock, rest).wrap(first)

    async def ask(self) -> str:
        reply: AssistantMessage = await self.model.reply(REQUEST, lambda _: None)
        return reply.text

    async def both_asked(self) -> tuple[int, int]:
        """How often each is asked for one request more."""
        before = self.first.asked, self.second.asked
        await self.ask()
        return self.first.asked - before[0], self.second.asked - before[1]


def anthropic(*events: dict[str, Any]) -> Answer:
    return streamed(
        *(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n".encode() for each in events)
    )


def block(index: int, begun: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of one block of Anthropic."""
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *[{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": index},
    ]


@pytest.mark.contract(
    "A model of another API takes over in the middle of a task, and gives it back.", read=CHAPTER
)
async def test_over_the_wire(target: ModuleType) -> None:
    one, two, odd_id, seal = token_hex(6), token_hex(6), f"a:{token_hex(4)}.1", token_hex(8)
    clock = FakeClock()
    asks = stream_of(completion(wire_call(odd_id, "read_file", {"path": "a.txt"})))
    thinks = sse(chunk({"reasoning_content": "It has to be a.txt."}))
    busy = Answer({"error": {"message": "overloaded"}}, status=503)

    def a_while_later(received: Received) -> Answer:
        clock.time += 61
        return anthropic(
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                {"type": "thinking_delta", "thinking": "And b.txt?"},
                {"type": "signature_delta", "signature": seal},
            ),
            *block(
                1,
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"path": "b.txt"}'},
            ),
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        )

    chat = streamed(thinks, *asks), busy, busy, busy, streamed(*stream_of(completion(text="Both.")))
    assert chat[0].content_type == EVENT_STREAM
    with ProviderServer(*chat) as first, ProviderServer(busy, a_while_later) as second:
        async with (
            streaming_model(first, KNOWN["openai"]) as openai,
            streaming_model(second, KNOWN["anthropic"]) as claude,
        ):
            files = MemoryFiles({"a.txt": one, "b.txt": two})
            kit = fake_kit(openai, files=files, clock=clock)
            conversation = target.plan(kit, claude, rest=60).build(kit)
            reply = await conversation.ask("Read both.")
    assert reply.text == "Both."
    assert [len(first.requests), len(second.requests)] == [5, 2], "each is asked again before"
    user, assistant, results = second.requests[1].body["messages"]
    (asked,) = [part for part in assistant["content"] if part["type"] == "tool_use"]
    (result,) = [part for part in results["content"] if part["type"] == "tool_result"]
    assert (user["role"], asked["input"]) == ("user", {"path": "a.txt"})
    assert asked["id"] == result["tool_use_id"]
    assert one in json.dumps(result)
    assert "thinking" not in {part["type"] for part in assistant["content"]}
    again = first.requests[4].body["messages"]
    ids = [each["id"] for said in again for each in said.get("tool_calls", ())]
    assert ids == [said["tool_call_id"] for said in again if said["role"] == "tool"]
    assert len(set(ids)) == 2
    assert two in json.dumps(again[-1])
    assert seal not in json.dumps(again), "the signature of another provider"


BODY = {"message": "no"}
ERRORS = [
    ("no connection", ProviderError("x", kind="connection", retryable=True), True),
    ("a time-out", too_slow(ENDPOINT, 300), True),
    ("a reply that broke off", incomplete(ENDPOINT, True), True),
    ("too many requests", refused(ENDPOINT, 429, BODY), True),
    ("a wait of an hour", refused(ENDPOINT, 429, BODY, 3600), True),
    ("overloaded", refused(ENDPOINT, 529, BODY), True),
    ("overloaded, in a 200", error_inside(ENDPOINT, 200, {"type": "overloaded_error"}), True),
    ("no credit, as 429", refused(ENDPOINT, 429, {"code": "insufficient_quota"}), True),
    ("no credit, as 402", refused(ENDPOINT, 402, BODY), True),
    ("no credit, in a 200", error_inside(ENDPOINT, 200, {"code": 402}), True),
    ("no credit, as 400", refused(ENDPOINT, 400, {"type": "billing_error"}), True),
    ("a wrong request", refused(ENDPOINT, 400, BODY), False),
    ("too large", refused(ENDPOINT, 413, BODY), False),
    ("a wrong schema", refused(ENDPOINT, 422, BODY), False),
    ("longer than it can read", refused(ENDPOINT, 400, {"code": "context_length_exceeded"}), False),
    ("a wrong key", refused(ENDPOINT, 401, BODY), False),
    ("not allowed", refused(ENDPOINT, 403, BODY), False),
    ("no such model", refused(ENDPOINT, 404, BODY), False),
    ("sent elsewhere", redirected(ENDPOINT, 302, "http://example.com/v1"), False),
]


@pytest.mark.contract("The table decides whether another model may help.", read=AGAIN)
@pytest.mark.parametrize(
    ("error", "helps"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS]
)
async def test_the_table(target: ModuleType, error: ProviderError, helps: bool) -> None:
    words, said = str(error), token_hex(4)
    trial = Trial(target, Model(error), Model(says(said)))
    if helps:
        assert await trial.ask() == said
        return
    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            await trial.ask()
        assert caught.value is error
        assert str(caught.value) == words
    assert (trial.first.asked, trial.second.asked) == (2, 0), "it is a mistake, and stays one"


@pytest.mark.contract("A reply is a reply, however it ended: nobody else is asked.", read=AGAIN)
@pytest.mark.parametrize("stop", list(StopReason))
async def test_a_reply_is_a_reply(target: ModuleType, stop: StopReason) -> None:
    trial = Trial(target, Model(says("I", stop=stop)), Model())
    assert await trial.ask() == "I"
    assert trial.second.asked == 0


@pytest.mark.contract(
    "The first model is left alone for a while, and then asked again.", read=AGAIN
)
async def test_the_rest(target: ModuleType) -> None:
    rest = randint(10, 500)
    trial = Trial(target, Model(down(), down(), says("back")), Model(says("meanwhile")), rest)
    assert await trial.both_asked() == (1, 1)
    trial.clock.time += rest - 1
    assert await trial.both_asked() == (0, 1), "the first one was asked while it rests"
    trial.clock.time += 1
    assert await trial.both_asked() == (1, 1), "the rest is over: the first one is asked"
    trial.clock.time += rest - 1
    assert await trial.both_asked() == (0, 1), "it failed again, and rests again"
    trial.clock.time += 1
    assert await trial.both_asked() == (1, 0)
    assert await trial.both_asked() == (1, 0)
    assert await trial.ask() == "back"


@pytest.mark.contract("The rest begins when the first model has failed.", read=AGAIN)
async def test_when_the_rest_begins(target: ModuleType) -> None:
    class Slow(Model):
        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            trial.clock.time += 100  # seconds, until it is given up
            return await super().reply(request, emit)

    trial = Trial(target, Slow(down()), Model(), rest=60)
    assert await trial.both_asked() == (1, 1)
    trial.clock.time += 59
    assert await trial.both_asked() == (0, 1)


@pytest.mark.contract("A provider that asks for a longer rest gets it.", read=AGAIN)
async def test_a_longer_rest(target: ModuleType) -> None:
    for asked, longest in ((1_000.0, 1_000.0), (5.0, 60.0)):
        trial = Trial(target, Model(down(retry_after=asked), says("back")), Model(), rest=60)
        assert await trial.both_asked() == (1, 1)
        trial.clock.time += longest - 1
        assert await trial.both_asked() == (0, 1)
        trial.clock.time += 1
        assert await trial.both_asked() == (1, 0)


@pytest.mark.contract("If both fail, the person reads of both.", read=AGAIN)
@pytest.mark.parametrize("status", [503, 400, 401])
async def test_both_fail(target: ModuleType, status: int) -> None:
    one, two = down(), down(status=status, retryable=status == 503)
    words = str(one), str(two)
    trial = Trial(target, Model(one), Model(says("once"), two))
    await trial.ask()
    trial.clock.time += 1
    with pytest.raises(ProviderError) as caught:
        await trial.ask()
    assert caught.value is two
    assert caught.value.__cause__ is one
    assert all(each in str(caught.value) for each in words), f"{words} in {caught.value}"


@pytest.mark.contract("After both have failed, the next request begins with the first.", read=AGAIN)
async def test_after_both_have_failed(target: ModuleType) -> None:
    trial = Trial(target, Model(down(), says("back")), Model(down()))
    with pytest.raises(ProviderError):
        await trial.ask()
    assert await trial.ask() == "back"


@pytest.mark.contract("Ctrl-C and bugs are no failures of a provider.", read=AGAIN)
@pytest.mark.parametrize("error", [asyncio.CancelledError(), KeyError("a bug")], ids=repr)
async def test_what_is_no_failure(target: ModuleType, error: BaseException) -> None:
    trial = Trial(target, Model(error, says("back")), Model())
    with pytest.raises(type(error)) as caught:
        await trial.ask()
    assert caught.value is error
    assert await trial.ask() == "back"
    assert trial.second.asked == 0


@pytest.mark.contract("The second model is asked the same, and its failed try is told before.")
async def test_the_request_and_the_events(target: ModuleType) -> None:
    error = down()
    events: list[Event] = []
    first, second = StreamedModel((says("I am"), error)), StreamedModel(says("I am here."))
    model = target.falling_back(second, FakeClock()).wrap(first)
    await model.reply(REQUEST, events.append)
    assert second.requests == [REQUEST]
    assert second.requests[0] is first.requests[0]
    told = [each for each in events if isinstance(each, ReplyStarted | ReplyEnded)]
    begun = ReplyStarted()
    assert told == [begun, ReplyEnded(None, error), begun, ReplyEnded(says("I am here."), None)]


@pytest.mark.contract("In the agent each model is retried, and the run goes on.", read=PIECES)
async def test_in_the_agent(target: ModuleType) -> None:
    read = call("read_file", id="call_1", path="a.txt")
    first, second = Model(says(read), down()), Model(down(), says("It is there."))
    clock = FakeClock()
    events: list[Event] = []
    kit = fake_kit(first, files=MemoryFiles({"a.txt": "1"}), clock=clock)
    plan = target.plan(kit, second).with_listeners(events.append)
    assert [layer.name for layer in plan.model_layers] == ["retry", target.NAME]
    conversation = plan.build(kit)
    reply = await conversation.ask("Is a.txt there?")
    assert reply.text == "It is there."
    assert (first.asked, second.asked) == (1 + 3, 2)
    assert sum(isinstance(each, RetryScheduled) for each in events) == 3
    added = [each.message for each in events if isinstance(each, MessageAdded)]
    assert added == list(conversation.history)
    await conversation.ask("Sure?")
    assert (first.asked, second.asked) == (4, 3), "a new run does not end the rest"


@pytest.mark.contract("Two agents share nothing.", read=PLACES)
async def test_two_agents(target: ModuleType) -> None:
    first, second = Model(down(), says("back")), Model(says("meanwhile"))
    layer = target.falling_back(second, FakeClock())
    assert (await layer.wrap(first).reply(REQUEST, lambda _: None)).text == "meanwhile"
    assert (await layer.wrap(first).reply(REQUEST, lambda _: None)).text == "back"
