"""What the record of `lantern` promises: the adapter, as it is, gets along with Lantern."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from types import ModuleType

import pytest

from chapters import ch04
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.adapters import Access, open_model
from chapters.ch04.exercises.compatible_server import picky_server as lantern
from chapters.ch04.exercises.compatible_server.picky_server import Rule, lantern_server, reply
from chapters.ch04.exercises.trial import nearby
from chapters.ch04.live import ProviderModel
from chapters.ch04.provider import Provider
from shared.errors import ConfigError, ProviderError
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Request,
    StopReason,
    Text,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, Received, wire_call
from shared.scripted import call, says
from shared.testing import FakeApprover, fake_kit

pytestmark = pytest.mark.anyio

RECORD = "chapters/ch04/README.md#a-provider-is-a-record"
NAMES = "chapters/ch04/README.md#names-and-ids"
HISTORY = "chapters/ch04/README.md#a-history-from-anywhere"
THINKING = "chapters/ch04/README.md#thinking-goes-home"
PICTURES = "chapters/ch04/README.md#pictures"
SCHEMA = "chapters/ch04/README.md#what-a-model-is-told-about-a-tool"

PIXEL = Image(
    "image/png",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg==",
)


def model_at(target: ModuleType, base_url: str, name: str = "a-model") -> ProviderModel:
    access = Access(base_url, "a-key", name)
    return open_model(record_of(target), access, transport=nearby())


def record_of(target: ModuleType) -> Provider:
    record = target.lantern()
    if type(record) is not Provider:
        pytest.fail(f"lantern() returns one Provider record; this is {record!r}", pytrace=False)
    return record


async def sent(
    target: ModuleType,
    rule: Rule,
    *history: Message,
    tools: Sequence[ToolSpec] = (),
    system: str = "",
) -> Received:
    """The request as it arrived at a Lantern that insists on one rule."""
    with lantern_server([reply(text="Understood.")], rule) as server:
        name = f"lantern-{token_hex(2)}"
        async with model_at(target, server.base_url, name) as model:
            request = Request(history or (UserMessage("Hello"),), tuple(tools), system)
            await answered(model.reply(request, lambda event: None), rule)
    received = server.requests[0]
    assert received.body["model"] == name
    return received


async def answered(
    waiting: Awaitable[AssistantMessage], rule: Rule | None = None
) -> AssistantMessage:
    try:
        return await waiting
    except ProviderError as error:
        said = rule.sentence if rule and error.status == 400 else error
        pytest.fail(f"Lantern answered {error.status}: {said}", pytrace=False)


def tool(name: str) -> ToolSpec:
    properties = {"path": {"type": "string"}, "limit": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["path"]}
    return ToolSpec(name, "Looks something up.", schema)


def round_of(call_id: str = "call_1", name: str = "look_up") -> list[Message]:
    """A prompt, a call of one tool, and its result."""
    asked = call(name, id=call_id, path="a.txt")
    return [UserMessage("go"), says(asked), ToolResult(call_id, name, token_hex(4))]


@pytest.mark.contract(
    "The record has the name `lantern`, one line about it, and its address.", read=RECORD
)
async def test_name_and_address(target: ModuleType) -> None:
    record = record_of(target)
    assert (record.name, record.base_url) == ("lantern", "https://api.lantern.example/v2")
    assert record.about.strip()
    assert len(record.about.splitlines()) == 1


@pytest.mark.contract("Every request says which version it speaks.", read=RECORD)
async def test_version(target: ModuleType) -> None:
    await sent(target, lantern.VERSION)


@pytest.mark.contract("Every request forbids Lantern to keep it.", read=RECORD)
async def test_retention(target: ModuleType) -> None:
    received = await sent(target, lantern.RETENTION)
    assert received.body["retention"] == "none", "you want Lantern to keep nothing"


@pytest.mark.contract("Every request asks for as long a reply as Lantern gives.", read=RECORD)
async def test_limit(target: ModuleType) -> None:
    received = await sent(target, lantern.LIMIT)
    assert received.body["max_new_tokens"] == 4096, "a lower limit cuts replies short"


@pytest.mark.contract("The system prompt has the role that Lantern gives it.", read=RECORD)
async def test_role(target: ModuleType) -> None:
    system = f"You are {token_hex(4)}."
    received = await sent(target, lantern.ROLE, system=system)
    assert lantern.messages(received)[0] == {"role": "developer", "content": system}


@pytest.mark.contract("No blank message is sent, whoever said nothing.", read=HISTORY)
async def test_blank(target: ModuleType) -> None:
    word = token_hex(4)
    history: list[Message] = [
        UserMessage(word),
        says("Yes?"),
        UserMessage(""),
        UserMessage((Text(" \n"),)),
    ]
    received = await sent(target, lantern.BLANK, *history, UserMessage((Text(""), Text(word))))
    assert len(lantern.messages(received)) == 3


@pytest.mark.contract("Beside calls, no text is null.", read=RECORD)
async def test_null(target: ModuleType) -> None:
    await sent(target, lantern.NULL, *round_of())


@pytest.mark.contract("No picture is sent, and the model reads that there was one.", read=PICTURES)
async def test_pictures(target: ModuleType) -> None:
    seen, asked = UserMessage((Text("Look:"), PIXEL)), call("look_up", id="call_1", path="a.png")
    result = ToolResult("call_1", "look_up", "a picture", images=(PIXEL,))
    received = await sent(target, lantern.TEXT_ONLY, seen, says(asked), result)
    assert PIXEL.data not in str(received.body)
    assert str(received.body).count("image omitted") == 2


@pytest.mark.contract("32 tools can be offered. 33 are refused before they are sent.", read=RECORD)
async def test_tools(target: ModuleType) -> None:
    tools = [tool(f"tool_{number}") for number in range(33)]
    received = await sent(target, lantern.TOOLS, tools=tools[:32])
    assert len(lantern.functions(received)) == 32
    with pytest.raises(ConfigError, match="33"):
        await sent(target, lantern.TOOLS, tools=tools)


@pytest.mark.contract(
    "A name of 40 characters goes as it is. A longer one is shortened, in calls as in offers.",
    read=NAMES,
)
async def test_names(target: ModuleType) -> None:
    fits, long = (f"{token_hex(4)}_{'x' * length}"[:length] for length in (40, 41))
    tools, history = [tool(fits), tool(long)], [*round_of(name=fits), *round_of("call_2", long)]
    received = await sent(target, lantern.NAMES, *history, tools=tools)
    names = [each["name"] for each in lantern.functions(received)]
    assert names[0] == fits, "a name that Lantern takes needs no change"
    assert list(lantern.calls_by_id(received).values()) == names


@pytest.mark.contract("Each function says whether it is strict, and keeps its word.", read=SCHEMA)
async def test_strict(target: ModuleType) -> None:
    await sent(target, lantern.STRICT, tools=[tool("look_up")])


LEGAL = "r_0123456789-abcdefABCDE"


@pytest.mark.contract(
    "An id that Lantern takes goes as it is. Any other is made legal, in call and result alike.",
    read=NAMES,
)
@pytest.mark.parametrize(
    ("call_id", "kept"),
    [
        (LEGAL, True),
        (LEGAL + "F", False),
        ("toolu_" + "0123456789abcdef" * 3, False),
        ("call_1|fc_" + "a" * 50, False),
        ("functions.look_up:0", False),
    ],
    ids=["24 characters", "25", "anthropic", "responses", "punctuation"],
)
async def test_ids(target: ModuleType, call_id: str, kept: bool) -> None:
    received = await sent(target, lantern.IDS, *round_of(call_id))
    (spelled,) = lantern.calls_by_id(received)
    assert [each["tool_call_id"] for each in lantern.messages(received, "tool")] == [spelled]
    assert (spelled == call_id) == kept


@pytest.mark.contract("A result says which tool it is from.", read=RECORD)
async def test_result_name(target: ModuleType) -> None:
    name = f"look_{token_hex(4)}"
    received = await sent(target, lantern.RESULT_NAME, *round_of(name=name), tools=[tool(name)])
    assert [each["name"] for each in lantern.messages(received, "tool")] == [name]


@pytest.mark.contract(
    "Between results and the words of a person stands a reply, and only there.", read=HISTORY
)
async def test_between(target: ModuleType) -> None:
    history = [*round_of(), UserMessage("stop"), says("Stopped."), UserMessage("thanks")]
    received = await sent(target, lantern.BETWEEN, *history)
    roles = [each["role"] for each in lantern.messages(received)]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "user"]


@pytest.mark.contract("Reasoning goes back to Lantern as it came.", read=THINKING)
async def test_reasoning(target: ModuleType) -> None:
    thought = f"First I look it up. {token_hex(4)}"
    rule = lantern.reasoning(thought)
    asked = reply(wire_call("call_1", "look_up", {"path": "a.txt"}), reasoning=thought)
    with lantern_server([asked, reply(text="Done.")], rule) as server:
        async with model_at(target, server.base_url) as model:
            history: list[Message] = [UserMessage("go")]
            first = await answered(model.reply(Request(history), lambda event: None), rule)
            history = [*history, first, ToolResult("call_1", "look_up", "nothing")]
            await answered(model.reply(Request(history), lambda event: None), rule)


@pytest.mark.contract(
    "A reply without a finish reason is whole. One that was cut off is not.", read=RECORD
)
@pytest.mark.parametrize(
    ("answer", "stop"),
    [
        (reply(text="Done."), StopReason.END_TURN),
        (reply(wire_call("call_1", "look_up", {"path": "a"})), StopReason.TOOL_USE),
        (reply(text="On the other hand", finish="length"), StopReason.MAX_TOKENS),
        (reply(text="I will not.", finish="content_filter"), StopReason.CONTENT_FILTER),
    ],
    ids=lambda value: value.value if isinstance(value, StopReason) else "",
)
async def test_finish(target: ModuleType, answer: Answer, stop: StopReason) -> None:
    with lantern_server([answer]) as server:
        async with model_at(target, server.base_url) as model:
            request = Request([UserMessage("go")])
            got = await answered(model.reply(request, lambda event: None))
    assert got.stop is stop


@pytest.mark.contract("The chapter's agent works with it, all rules at once.", read=RECORD)
async def test_the_agent(target: ModuleType) -> None:
    word, thought = token_hex(8), f"Hm. {token_hex(4)}"

    def what_was_read(received: Received) -> Answer:
        return reply(text=lantern.messages(received, "tool")[-1]["content"])

    asked = reply(wire_call("r-1", "read_file", {"path": "word.txt"}), reasoning=thought)
    rules = (*lantern.RULES, lantern.reasoning(thought))
    with lantern_server([asked, what_was_read, reply(text="You are welcome.")], *rules) as server:
        async with model_at(target, server.base_url) as model:
            kit = fake_kit(
                model, files=MemoryFiles({"word.txt": word}), approver=FakeApprover("yes")
            )
            plan = replace(ch04.plan(kit), system="Be brief.")
            conversation = plan.build(kit)
            assert word in (await answered(conversation.ask("What is in word.txt?"))).text
            assert (await answered(conversation.ask("Thank you."))).text == "You are welcome."


@pytest.mark.contract("Lantern refuses nothing for a reason that its documentation does not give.")
async def test_the_documentation_says_it_all() -> None:
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    said = " ".join(page.split())
    sentences = [rule.sentence for rule in (*lantern.RULES, lantern.reasoning(""))]
    assert [sentence for sentence in sentences if sentence not in said] == []
