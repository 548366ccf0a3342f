"""What `Bounded` promises: a call ends at the limit, nothing of its reply runs, the run goes on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from random import randint
from secrets import token_hex
from types import ModuleType

import pytest

from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.known_servers import KNOWN
from chapters.ch05.exercises.trial import StreamedModel, streaming_model
from shared.errors import ProviderError, ReplyRefused
from shared.events import (
    Emit,
    Event,
    ReplyEnded,
    ReplyStarted,
    TextDelta,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from shared.ports import Model
from shared.provider_server import Answer, Ending, ProviderServer, completion, wire_call
from shared.provider_stream import stream_of, streamed
from shared.scripted import ScriptedModel, says
from shared.testing import fake_kit

pytestmark = pytest.mark.anyio

WHEN = "chapters/ch05/README.md#when-may-a-call-run"
PIECES = "chapters/ch05/README.md#one-reply-piece-by-piece"
TOGETHER = "chapters/ch05/README.md#putting-a-reply-together"
AGAIN = "chapters/ch05/README.md#sending-it-again"

REQUEST = Request((UserMessage("go"),))


def write(size: int, sign: str = "x") -> ToolCall:
    """A call whose arguments have exactly `size` bytes in UTF-8, as many as may be of `sign`."""
    begin, end = f'{{"path": "{token_hex(4)}.txt", "content": "', '"}'
    room = size - len(begin) - len(end)
    content = sign * (room // len(sign.encode()))
    content += "x" * (room - len(content.encode()))
    arguments = begin + content + end
    assert len(arguments.encode()) == size
    json.loads(arguments)
    return ToolCall(f"call_{token_hex(4)}", "write_file", arguments)


async def asked(
    target: ModuleType, model: Model, limit: int, events: list[Event] | None = None
) -> AssistantMessage:
    """One request through the layer."""
    told = (events if events is not None else []).append
    reply: AssistantMessage = await target.bounded(limit).wrap(model).reply(REQUEST, told)
    return reply


@pytest.mark.contract(
    "A call that does not end is hung up on while it streams, and the run goes on.", read=WHEN
)
async def test_over_the_wire(target: ModuleType) -> None:
    limit = randint(200, 400)
    endless = completion(wire_call("call_1", "write_file", write(4_000).arguments), text="So.")
    pieces = stream_of(endless)[:120]  # about 900 of 4,000 bytes, and then it goes on for ever
    end = Answer(
        streamed(*stream_of(completion(text="In several steps, then."))).body,
        content_type="text/event-stream",
    )
    files = MemoryFiles()
    with ProviderServer(streamed(*pieces, ending=Ending.HANGING), end) as server:
        async with streaming_model(server, KNOWN["openai"]) as model:
            kit = fake_kit(model, files=files)
            conversation = target.plan(kit, limit=limit).build(kit)
            try:
                async with asyncio.timeout(5):
                    reply = await conversation.ask("Write it.")
            except TimeoutError:
                pytest.fail(
                    f"{limit} bytes were allowed, 900 have come, and nobody has hung up",
                    pytrace=False,
                )
            assert await asyncio.to_thread(server.hung_up.wait, 5), "the server still writes"
    assert reply.text == "In several steps, then."
    assert files.files == {}
    assert len(server.requests) == 2, "a request whose reply was stopped is not sent again"
    (result,) = [each for each in conversation.history if isinstance(each, ToolResult)]
    assert result.code == "reply_cut_off"
    said = [message["role"] for message in server.requests[1].body["messages"]]
    assert said == ["user", "assistant", "tool"], "the model has to see what it wrote, and why not"


@pytest.mark.contract("The limit counts bytes of UTF-8, and may be reached.", read=PIECES)
@pytest.mark.parametrize("sign", ["x", "é", "語", "😀"])
@pytest.mark.parametrize("step", [1, 7, 100_000])
async def test_the_limit(target: ModuleType, sign: str, step: int) -> None:
    limit = randint(90, 300)
    exact, more = says(write(limit, sign)), says(write(limit + 1, sign))
    reply = await asked(target, StreamedModel(exact, step=step), limit)
    assert reply == exact, "a call of exactly the limit is not too long"
    events: list[Event] = []
    reply = await asked(target, StreamedModel(more, step=step), limit, events)
    assert reply.stop is StopReason.MAX_TOKENS, "one byte more than the limit is too much"
    assert isinstance(events[-1], ReplyEnded)
    assert events[-1].reply is None, "it was too long, and the model was not stopped"


@pytest.mark.contract("The limit is for each call, not for all of them.", read=PIECES)
async def test_each_call(target: ModuleType) -> None:
    limit = randint(90, 300)
    several = says("I write.", *(write(limit) for _ in range(4)))
    assert await asked(target, StreamedModel(several), limit) == several


@pytest.mark.contract("Calls that grow side by side are counted apart.", read=TOGETHER)
async def test_side_by_side(target: ModuleType) -> None:
    calls = write(100), write(100)

    class Interleaving:
        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            emit(ReplyStarted())
            for number, each in enumerate(calls):
                emit(ToolCallStarted(number, each.id, each.name))
            for start in range(0, 100, 5):
                for number, each in enumerate(calls):
                    emit(ToolCallDelta(number, each.arguments[start : start + 5]))
            return says(*calls)

    assert await asked(target, Interleaving(), 100) == says(*calls)
    stopped = await asked(target, Interleaving(), 99)
    assert [len(each.arguments) for each in stopped.calls] in ([99, 95], [99, 99])


@pytest.mark.contract("Texts and thoughts may be as long as they are.", read=PIECES)
async def test_words_are_free(target: ModuleType) -> None:
    reply = AssistantMessage((Thinking("t" * 500), Text("x" * 500), write(100)))
    assert await asked(target, StreamedModel(reply), 100) == reply


@pytest.mark.contract(
    "What is left is a reply that hit its limit: texts, and calls as far as they came.", read=WHEN
)
async def test_what_is_left(target: ModuleType) -> None:
    limit = randint(90, 120)
    first, second = write(80), write(300, "é")
    said = AssistantMessage((Thinking("hm"), Text("I write both."), first, second, write(80)))
    reply = await asked(target, StreamedModel(said, step=4), limit)
    assert reply.stop is StopReason.MAX_TOKENS
    assert reply.text == "I write both."
    assert [(each.name, each.arguments) for each in reply.calls] == [
        ("write_file", first.arguments),
        ("write_file", target.first_bytes(second.arguments, limit)),
    ], "the call that was stopped keeps its first bytes; what never came is not there"
    assert not any(isinstance(part, Thinking) for part in reply.content), "it may be half a thought"


@pytest.mark.contract("The name of a call may grow after it has begun.", read=TOGETHER)
async def test_a_name_that_grows(target: ModuleType) -> None:
    whole, endless = write(80), write(300)

    class Growing:
        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            emit(ReplyStarted())
            emit(ToolCallStarted(0, whole.id, "write"))
            emit(ToolCallDelta(0, whole.arguments))
            emit(ToolCallEnded(0, whole))
            emit(ToolCallStarted(1, endless.id, endless.name))
            emit(ToolCallDelta(1, endless.arguments))
            raise AssertionError("300 bytes came, and 100 were allowed")

    reply = await asked(target, Growing(), 100)
    assert [each.name for each in reply.calls] == ["write_file"] * 2


@pytest.mark.contract("Each call that is left has an id of its own.", read=TOGETHER)
@pytest.mark.parametrize("id", ["", "call_1"])
async def test_ids(target: ModuleType, id: str) -> None:  # noqa: A002
    said = says(replace(write(80), id=id), replace(write(300), id=id))
    reply = await asked(target, StreamedModel(said), 100)
    ids = [each.id for each in reply.calls]
    assert len({*ids, ""}) == 3, f"two calls need two ids, and got {ids}"


@pytest.mark.contract("Nothing of it runs, the whole calls neither; each is told so.", read=WHEN)
@pytest.mark.parametrize("streams", [True, False], ids=["streamed", "in one piece"])
async def test_nothing_runs(target: ModuleType, streams: bool) -> None:
    files, replies = MemoryFiles(), [says("Both.", write(80), write(900)), says("Smaller.")]
    model: Model = StreamedModel(*replies) if streams else ScriptedModel(replies)
    conversation = target.plan(fake_kit(model, files=files), limit=100).build(fake_kit(model))
    reply = await conversation.ask("go")
    assert reply.text == "Smaller.", "the run has to go on"
    assert files.files == {}
    codes = [each.code for each in conversation.history if isinstance(each, ToolResult)]
    assert codes == ["reply_cut_off"] * 2


@pytest.mark.contract("A reply that comes without pieces is held to the same limit.", read=PIECES)
async def test_in_one_piece(target: ModuleType) -> None:
    fits, longer = says("So.", write(100, "é")), says("So.", write(90), write(101, "é"))
    assert await asked(target, ScriptedModel([fits]), 100) == fits
    reply = await asked(target, ScriptedModel([longer]), 100)
    assert (reply.stop, reply.text) == (StopReason.MAX_TOKENS, "So.")
    first, second = (each.arguments for each in reply.calls)
    assert first == longer.calls[0].arguments
    assert second == target.first_bytes(longer.calls[1].arguments, 100)
    for stop in (StopReason.REFUSAL, StopReason.MISSING):
        ended = replace(longer, stop=stop)
        reply = await asked(target, ScriptedModel([ended]), 100)
        assert reply.stop is stop, "how it ended badly is not to be forgotten"


@pytest.mark.contract("A refusal is still a refusal.", read=WHEN)
async def test_a_refusal(target: ModuleType) -> None:
    kit = fake_kit(StreamedModel(says("No.", write(80), stop=StopReason.REFUSAL)))
    with pytest.raises(ReplyRefused):
        await target.plan(kit, limit=100).build(kit).ask("go")


@pytest.mark.contract("A reply that broke off and was asked for again counts once.", read=AGAIN)
async def test_a_retry_counts_anew(target: ModuleType) -> None:
    whole = says("So.", write(100))
    broken = ProviderError("it broke off", kind="incomplete_stream", retryable=True)
    files = MemoryFiles()
    model = StreamedModel((whole, broken), (whole, broken), whole, says("done"))
    kit = fake_kit(model, files=files)
    conversation = target.plan(kit, limit=100).build(kit)
    await conversation.ask("go")
    codes = [each.code for each in conversation.history if isinstance(each, ToolResult)]
    assert codes != ["reply_cut_off"], "the tries were added up: 100 bytes, three times"
    assert len(model.requests) == 4
    model = StreamedModel(
        (says("So.", write(90), write(90)), broken), says(write(101)), says("done")
    )
    kit = fake_kit(model, files=files)
    conversation = target.plan(kit, limit=100).build(kit)
    await conversation.ask("go")
    left = conversation.history[1]
    assert isinstance(left, AssistantMessage)
    assert (left.text, len(left.calls)) == ("", 1), "parts of the try before are in this reply"


@pytest.mark.contract("Other errors go on as they are.", read=AGAIN)
@pytest.mark.parametrize(
    "error",
    [
        ProviderError("no", kind="provider", status=400),
        ValueError("a bug"),
        asyncio.CancelledError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_other_errors(target: ModuleType, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        await asked(target, StreamedModel((says(write(80)), error)), 100)
    assert caught.value is error


@pytest.mark.contract("A listener is told what it was told before, and no more of a stopped call.")
async def test_events(target: ModuleType) -> None:
    said = says("So.", write(100))
    without: list[Event] = []
    within: list[Event] = []
    await StreamedModel(said).reply(REQUEST, without.append)
    await asked(target, StreamedModel(said), 100, within)
    assert within == without
    stopped: list[Event] = []
    await asked(target, StreamedModel(says("So.", write(5_000)), step=10), 100, stopped)
    heard = [each for each in stopped if isinstance(each, ToolCallDelta)]
    assert len(heard) in (10, 11), "ten pieces fit, and one may be too much"
    assert any(isinstance(each, TextDelta) for each in stopped)
    assert isinstance(stopped[-1], ReplyEnded), "nobody was told that it is over"


@pytest.mark.contract("It is a layer outside of the retry, and two requests share nothing.")
async def test_the_plan(target: ModuleType) -> None:
    layers = target.plan(fake_kit(), limit=100).model_layers
    assert [layer.name for layer in layers] == ["retry", target.NAME]
    said = says(write(100)), says(write(100))
    model = target.bounded(100).wrap(StreamedModel(*said))
    replies = await asyncio.gather(*(model.reply(REQUEST, lambda _: None) for _ in said))
    assert [reply.stop for reply in replies] == [StopReason.TOOL_USE] * 2
