"""What `ProviderMeter` promises: every reply counts once, and what is not known is not zero."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from random import randint
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest

from chapters import ch04
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.adapters import wire_of
from chapters.ch04.exercises.trial import model_at
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from shared.errors import ProviderError, ReplyCutOff, ReplyRefused
from shared.events import Emit, MessageAdded, RunEnded, RunStarted, TurnEnded, TurnStarted
from shared.messages import (
    AssistantMessage,
    Origin,
    Request,
    StopReason,
    ToolResult,
    Usage,
    UserMessage,
)
from shared.ports import Model
from shared.provider_server import Answer, ProviderServer, completion, wire_call
from shared.scripted import ScriptedModel, call, says
from shared.testing import fake_kit

pytestmark = pytest.mark.anyio

PLACES = "chapters/ch01/README.md#five-places-to-plug-in"
USAGE = "chapters/ch04/README.md#the-same-conversation-four-times"

ONE = Origin("openai-chat", "openai", "one")
TWO = Origin("anthropic", "anthropic", "two")


def some_usage() -> Usage:
    """Numbers that nobody could foresee."""
    read = randint(5_000, 90_000)
    return Usage(read, randint(1_000, 9_000), randint(100, read), randint(1, 99), randint(1, 999))


def reply_by(origin: Origin | None, usage: Usage | None) -> AssistantMessage:
    return replace(says(token_hex(4)), origin=origin, usage=usage)


def heard(target: ModuleType, *replies: AssistantMessage) -> Any:
    """A meter that has heard of these replies."""
    meter = target.ProviderMeter()
    for reply in replies:
        meter.listen(MessageAdded(reply))
    if replies and not meter.spent:
        pytest.fail("a reply was added to the history, and it was not counted", pytrace=False)
    return meter


def cells(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


@dataclass
class Switching:
    """A model behind which stand several that reply in turn."""

    models: Sequence[Model]
    asked: int = 0

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        self.asked += 1
        return await self.models[(self.asked - 1) % len(self.models)].reply(request, emit)


def chat(usage: Any, *calls: Any) -> Answer:
    """A reply of Chat Completions, whose prompt_tokens hold the cached ones."""
    return Answer({**completion(*calls, text="One."), "usage": usage})


def message(usage: Any, *blocks: Any) -> Answer:
    """A reply of Anthropic Messages, whose input_tokens do not hold the cached ones."""
    content = blocks or [{"type": "text", "text": "Two."}]
    reason = "tool_use" if blocks else "end_turn"
    return Answer(
        {"role": "assistant", "content": list(content), "stop_reason": reason, "usage": usage}
    )


@pytest.mark.contract(
    "A run that goes over two providers is added up for each of them.", read=USAGE
)
async def test_over_the_wire(target: ModuleType) -> None:
    fresh, cached, written = randint(1_000, 9_000), randint(1_000, 9_000), randint(100, 900)
    asked = wire_call("call_1", "read_file", {"path": "a.txt"})
    chats = [
        chat(
            {
                "prompt_tokens": fresh + cached,
                "completion_tokens": written,
                "prompt_tokens_details": {"cached_tokens": cached},
            },
            asked,
        ),
        chat({"prompt_tokens": fresh, "completion_tokens": written}),
    ]
    block = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}}
    messages = [
        message(
            {"input_tokens": fresh, "cache_read_input_tokens": cached, "output_tokens": written},
            block,
        )
    ]
    meter = target.ProviderMeter()
    with ExitStack() as servers:
        async with AsyncExitStack() as models:
            opened: list[Model] = []
            for name, script in (("openai", chats), ("anthropic", messages)):
                server = servers.enter_context(ProviderServer(*script))
                whom = Target(KNOWN[name], f"model-of-{name}")
                model = model_at(server.base_url, wire_of(whom.provider.api), whom)
                opened.append(await models.enter_async_context(model))
            kit = fake_kit(Switching(opened), files=MemoryFiles({"a.txt": "one\n"}))
            await target.plan(kit, meter).build(kit).ask("Read a.txt.")
    seen = {origin.provider: spent for origin, spent in meter.spent.items() if origin}
    assert seen["openai"].usage == Usage(2 * fresh + cached, 2 * written, cached)
    assert seen["anthropic"].usage == Usage(fresh + cached, written, cached)
    assert [spent.replies for spent in seen.values()] == [2, 1]


@pytest.mark.contract("Replies of one origin add up, whatever comes between them.", read=USAGE)
async def test_adding_up(target: ModuleType) -> None:
    usages = [some_usage() for _ in range(6)]
    meter = heard(target, *(reply_by((ONE, TWO)[n % 2], usage) for n, usage in enumerate(usages)))
    assert list(meter.spent) == [ONE, TWO], "in the order in which they first replied"
    for place, origin in enumerate((ONE, TWO)):
        first, *others = usages[place::2]
        assert meter.spent[origin].usage == sum(others, first)
        assert (meter.spent[origin].replies, meter.spent[origin].unknown) == (3, 0)
    assert meter.total().usage == sum(usages[1:], usages[0])
    assert meter.total().replies == 6


@pytest.mark.contract("An origin is all three: the API, the provider and the model.", read=USAGE)
@pytest.mark.parametrize("what", ["api", "provider", "model"])
async def test_an_origin(target: ModuleType, what: str) -> None:
    other = replace(ONE, **{what: "other"})
    meter = heard(target, reply_by(ONE, some_usage()), reply_by(other, some_usage()))
    assert list(meter.spent) == [ONE, other]
    _, first, second, _ = meter.table().splitlines()
    assert cells(first)[:3] == [ONE.api, ONE.provider, ONE.model]
    assert cells(second)[:3] == [other.api, other.provider, other.model]


@pytest.mark.contract("Cached tokens are part of the input. They are counted once.", read=USAGE)
async def test_cached_tokens(target: ModuleType) -> None:
    usage = Usage(randint(5_000, 9_000), 100, cached_tokens=randint(1_000, 4_000))
    meter = heard(target, reply_by(ONE, usage), reply_by(TWO, usage))
    assert meter.total().usage.input_tokens == 2 * usage.input_tokens
    for line in meter.table().splitlines()[1:3]:
        assert cells(line)[4:6] == [f"{usage.input_tokens:,}", f"{usage.cached_tokens:,}"]


@pytest.mark.contract(
    "A reply without usage has cost something, and nobody knows what.", read=USAGE
)
async def test_unknown(target: ModuleType) -> None:
    usage = some_usage()
    meter = heard(target, reply_by(ONE, None), reply_by(TWO, usage), reply_by(TWO, None))
    assert (meter.spent[ONE].replies, meter.spent[ONE].unknown) == (1, 1)
    assert (meter.spent[TWO].replies, meter.spent[TWO].unknown) == (2, 1)
    assert meter.spent[TWO].usage == usage, "what is known is still known"
    assert (meter.total().replies, meter.total().unknown) == (3, 2)


@pytest.mark.contract("In the table, unknown is `?` and never 0; partly known is both.", read=USAGE)
async def test_unknown_in_the_table(target: ModuleType) -> None:
    usage = some_usage()
    meter = heard(
        target,
        reply_by(ONE, None),
        reply_by(ONE, None),
        reply_by(TWO, usage),
        reply_by(TWO, None),
    )
    _, one, two, total = (cells(line) for line in meter.table().splitlines())
    known = (usage.input_tokens, usage.cached_tokens, usage.output_tokens, usage.reasoning_tokens)
    assert one[3:] == ["2", "?", "?", "?", "?"]
    assert two[3:] == ["2", *(f"{tokens:,} + ?" for tokens in known)]
    assert total == ["total", "4", *two[4:]]


@pytest.mark.contract("A zero that a provider has said is a zero.", read=USAGE)
async def test_a_known_zero(target: ModuleType) -> None:
    (_, line) = heard(target, reply_by(ONE, Usage(7, 0))).table().splitlines()
    assert cells(line)[3:] == ["1", "7", "0", "0", "0"]


@pytest.mark.contract("Each reply counts once, and nothing but replies counts.", read=PLACES)
async def test_each_reply_once(target: ModuleType) -> None:
    meter, reply = target.ProviderMeter(), reply_by(ONE, some_usage())
    asked, result = call("read_file", id="call_1", path="a"), ToolResult("call_1", "read_file", "a")
    for event in (
        RunStarted(20),
        MessageAdded(UserMessage("go")),
        TurnStarted(1, Request([reply, says(asked), result])),
        MessageAdded(reply),
        MessageAdded(result),
        TurnEnded(1, reply),
        RunEnded(reply, None),
    ):
        meter.listen(event)
    assert meter.total().replies == 1
    assert meter.total().usage == reply.usage


@pytest.mark.contract("A reply that was refused or cut off has cost what it has cost.", read=PLACES)
@pytest.mark.parametrize(
    ("stop", "error"),
    [(StopReason.REFUSAL, ReplyRefused), (StopReason.MAX_TOKENS, ReplyCutOff)],
    ids=["refused", "cut off"],
)
async def test_replies_that_ended_badly(
    target: ModuleType, stop: StopReason, error: type[Exception]
) -> None:
    usage, meter = some_usage(), target.ProviderMeter()
    ended = replace(says("I", stop=stop), origin=ONE, usage=usage)
    kit = fake_kit(ScriptedModel([ended]))
    with pytest.raises(error):
        await target.plan(kit, meter).build(kit).ask("go")
    assert meter.total().usage == usage, "the run ended before its turn did"


@pytest.mark.contract("It counts over several runs, and two meters share nothing.", read=PLACES)
async def test_several_runs(target: ModuleType) -> None:
    usages, meters = [some_usage(), some_usage()], [target.ProviderMeter() for _ in range(2)]
    kit = fake_kit(ScriptedModel([reply_by(ONE, usage) for usage in usages]))
    conversation = target.plan(kit, meters[0]).build(kit)
    await conversation.ask("first")
    await conversation.ask("second")
    assert meters[0].spent[ONE].usage == usages[0] + usages[1]
    assert meters[1].spent == {}


@pytest.mark.contract("A request that brought no reply is in no line.", read=PLACES)
async def test_no_reply(target: ModuleType) -> None:
    class Failing:
        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            raise ProviderError("not today", kind="provider", status=503)

    meter, kit = target.ProviderMeter(), fake_kit(Failing())
    with pytest.raises(ProviderError):
        await target.plan(kit, meter).build(kit).ask("go")
    assert meter.total().replies == 0
    assert meter.table() == "No reply yet."


@pytest.mark.contract("A reply that no provider wrote has a line of its own.", read=USAGE)
async def test_no_origin(target: ModuleType) -> None:
    meter = heard(target, reply_by(None, None), reply_by(ONE, some_usage()))
    assert list(meter.spent) == [None, ONE]
    assert cells(meter.table().splitlines()[1]) == ["-", "-", "-", "1", "?", "?", "?", "?"]


@pytest.mark.contract("The table has headings, a total of several lines, and columns.", read=USAGE)
async def test_the_table(target: ModuleType) -> None:
    alone = heard(target, reply_by(ONE, some_usage())).table().splitlines()
    assert len(alone) == 2, "one line needs no total"
    usage = Usage(1_234_567, 20, 0)
    meter = heard(target, reply_by(ONE, usage), reply_by(TWO, Usage(1, 2, 0)))
    lines = meter.table().splitlines()
    assert cells(lines[0]) == list(target.HEADINGS)
    assert cells(lines[1]) == [ONE.api, ONE.provider, ONE.model, "1", "1,234,567", "0", "20", "0"]
    assert cells(lines[3]) == ["total", "2", "1,234,568", "0", "22", "0"]
    assert len({len(line) for line in lines}) == 1, "the columns are not aligned"


@pytest.mark.contract("The table looks as the statement shows it.")
async def test_the_table_of_the_statement(target: ModuleType) -> None:
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    _, shown, _ = page.split("```\n")
    small = Origin("openai-chat", "openai", "small")
    local = Origin("openai-chat", "ollama", "local")
    large = Origin("anthropic", "anthropic", "large")
    usages = [Usage(3_100, 120, 2_700), Usage(3_020, 142, 2_800), Usage(3_000, 150, 2_500)]
    meter = heard(
        target,
        *(reply_by(small, usage) for usage in usages),
        reply_by(local, None),
        reply_by(large, Usage(4_310, 95)),
        reply_by(large, None),
    )
    assert meter.table().splitlines() == shown.splitlines()


@pytest.mark.contract("Whoever reads what was spent cannot change it.", read=PLACES)
async def test_reading_changes_nothing(target: ModuleType) -> None:
    meter = heard(target, reply_by(ONE, some_usage()))
    before, seen = meter.total(), meter.spent
    seen.clear()
    assert (meter.total(), list(meter.spent)) == (before, [ONE])
    meter.listen(MessageAdded(reply_by(ONE, some_usage())))
    assert before.replies == 1


@pytest.mark.contract("The agent is the one of chapter 4: it has a listener more.", read=PLACES)
async def test_the_plan(target: ModuleType) -> None:
    kit, meter = fake_kit(), target.ProviderMeter()
    before, after = ch04.plan(kit), target.plan(kit, meter)
    assert after.listeners == (*before.listeners, meter.listen)
    assert [tool.name for tool in after.tools] == [tool.name for tool in before.tools]
    assert after.model_layers == before.model_layers
