"""What an adapter for Parcel promises, judged by the chapter's suite over fixtures of its own."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest

from chapters import ch04
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.adapters import Access
from chapters.ch04.conformance.rows import Row, load
from chapters.ch04.exercises.fifth_adapter import parcel_rows
from chapters.ch04.exercises.fifth_adapter.judge import play
from chapters.ch04.exercises.fifth_adapter.parcel_server import parcel_server, refusals, turn
from chapters.ch04.exercises.trial import nearby
from chapters.ch04.live import ProviderModel
from chapters.ch04.provider import Target
from shared.errors import ProviderError
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    Request,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, Received
from shared.scripted import call
from shared.testing import fake_kit

pytestmark = pytest.mark.anyio

WIRE = "chapters/ch04/README.md#three-pure-functions-and-one-call"
SUITE = "chapters/ch04/README.md#is-your-server-what-it-says"
REPAIR = "chapters/ch04/README.md#a-history-from-anywhere"

MODEL = "parcel-1"
LEGAL = re.compile(r"[A-Za-z0-9_-]{1,64}")


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Row]:
    """The fixtures by what they are about."""
    folder = parcel_rows.write_rows(tmp_path_factory.mktemp("parcel"))
    return {row.what: row for row in load(folder)}


def each(group: tuple[dict[str, Any], ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("what", [row["what"] for row in group])


def model_at(target: ModuleType, base_url: str) -> ProviderModel:
    access = Access(base_url, "a-key", MODEL)
    model: ProviderModel = target.open_parcel(access, timeout=5.0, transport=nearby())
    return model


async def judged(target: ModuleType, row: Row) -> None:
    origin = Target(target.PROVIDER, MODEL).origin
    if problems := await play(row, lambda base_url: model_at(target, base_url), origin):
        pytest.fail(f"{problems}\nThe fixture: {' '.join(row.content.decode().split())}", False)


@pytest.mark.contract("Texts and tokens arrive; cached tokens are part of the input.", read=SUITE)
@each(parcel_rows.TEXTS)
async def test_texts(target: ModuleType, rows: dict[str, Row], what: str) -> None:
    await judged(target, rows[what])


@pytest.mark.contract(
    "Calls arrive with their arguments, and thoughts with their seal.", read=SUITE
)
@each(parcel_rows.CALLS)
async def test_calls(target: ModuleType, rows: dict[str, Row], what: str) -> None:
    await judged(target, rows[what])


@pytest.mark.contract(
    "The stop word is translated; one that is new or missing is no end.", read=SUITE
)
@each(parcel_rows.STOPS)
async def test_stops(target: ModuleType, rows: dict[str, Row], what: str) -> None:
    await judged(target, rows[what])


@pytest.mark.contract("What is no turn of the model is an error, whatever its status.", read=SUITE)
@each(parcel_rows.ERRORS)
async def test_errors(target: ModuleType, rows: dict[str, Row], what: str) -> None:
    await judged(target, rows[what])


@pytest.mark.contract("Any history becomes an exchange that Parcel takes.", read=REPAIR)
@each(parcel_rows.HISTORIES)
async def test_histories(target: ModuleType, rows: dict[str, Row], what: str) -> None:
    await judged(target, rows[what])


async def sent(target: ModuleType, request: Request) -> Any:
    """The body of a request, after a strict Parcel has taken it."""
    with parcel_server(turn({"text": "Taken."})) as server:
        async with model_at(target, server.base_url) as model:
            try:
                await model.reply(request, lambda event: None)
            except ProviderError as error:
                reasons = [reason for each in server.requests for reason in refusals(each.body)]
                said = "; ".join(reasons) or str(error)
                pytest.fail(f"Parcel answered {error.status}: {said}", pytrace=False)
    return server.requests[0].body


@pytest.mark.contract(
    "Tools are offered whole and in order, under names that are legal.", read=WIRE
)
async def test_abilities(target: ModuleType) -> None:
    names = [f"look_{token_hex(2)}", f"files.read {token_hex(2)}", "x" * 70]
    specs = tuple(
        ToolSpec(name, token_hex(4), {"type": "object", "additionalProperties": False, "x": name})
        for name in names
    )
    body = await sent(target, Request([UserMessage("go")], specs))
    offered = body["abilities"]
    assert [each["for"] for each in offered] == [spec.description for spec in specs]
    assert [each["takes"] for each in offered] == [spec.parameters for spec in specs]
    assert offered[0]["called"] == names[0]
    illegal = [name for each in offered if not LEGAL.fullmatch(name := each["called"])]
    assert illegal == [], "a name that Parcel does not take"
    assert "abilities" not in await sent(target, Request([UserMessage("go")]))


@pytest.mark.contract("A call of a renamed tool comes back under our name, with an id.", read=WIRE)
async def test_names_and_ids(target: ModuleType) -> None:
    name = f"files.read {token_hex(2)}"
    spec = ToolSpec(name, "Reads.", {"type": "object"})

    def asks(received: Received) -> Answer:
        called = received.body["abilities"][0]["called"]
        return turn(*({"ask": number, "ability": called, "with": {}} for number in (1, 2)))

    with parcel_server(asks, asks) as server:
        async with model_at(target, server.base_url) as model:
            history: list[Message] = [UserMessage("go")]
            for _ in range(2):
                reply = await model.reply(Request(history, (spec,)), lambda event: None)
                results = [ToolResult(each.id, each.name, "ok") for each in reply.calls]
                history = [*history, reply, *results]
    calls = [each for m in history if isinstance(m, AssistantMessage) for each in m.calls]
    assert [each.name for each in calls] == [name] * 4
    assert len({each.id for each in calls} - {""}) == 4, "an id names a call in the whole history"


@pytest.mark.contract(
    "What other providers have said is taken over, without their ids and thoughts.", read=REPAIR
)
async def test_from_elsewhere(target: ModuleType) -> None:
    word = token_hex(4)
    calls = [ToolCall("call_1|fc_" + "a" * 60, "look", f'{{"at": "{word}"}}'), call("look", id="b")]
    thought = Thinking("Hm.", "a seal of somebody else")
    origin = Origin("anthropic", "anthropic", "another")
    history: list[Message] = [
        UserMessage((Text(word), Image("image/png", "aGVsbG8="))),
        AssistantMessage((thought, Text("Yes."), *calls), origin=origin),
        ToolResult(calls[0].id, "look", "seen"),
        ToolResult.failure(calls[1], "timeout", "too slow"),
    ]
    before = list(history)
    exchange = (await sent(target, Request(history)))["exchange"]
    assert word in exchange[0]["says"]
    assert exchange[1]["parcels"] == [
        {"text": "Yes."},
        {"ask": 1, "ability": "look", "with": {"at": word}},
        {"ask": 2, "ability": "look", "with": {}},
    ]
    assert [each["failed"] for each in exchange[2]["answers"]] == [False, True]
    assert history == before


@pytest.mark.contract("Thinking that Parcel has not sealed is not sent.", read=REPAIR)
async def test_no_seal(target: ModuleType) -> None:
    origin = Target(target.PROVIDER, MODEL).origin
    reply = AssistantMessage((Thinking("Hm."), Text("Yes.")), origin=origin)
    history: list[Message] = [UserMessage("go"), reply, UserMessage("on")]
    exchange = (await sent(target, Request(history)))["exchange"]
    assert exchange[1] == {"by": "model", "parcels": [{"text": "Yes."}]}


@pytest.mark.contract(
    "Of the tokens, it is known which were cached, and which thought.", read=SUITE
)
async def test_tokens(target: ModuleType) -> None:
    read, reread, wrote, thought = random.sample(range(100, 10_000), 4)
    spent = {"read": read, "reread": reread, "wrote": wrote + thought, "thought": thought}
    with parcel_server(turn({"text": "Yes."}, spent=spent)) as server:
        async with model_at(target, server.base_url) as model:
            usage = (await model.reply(Request([UserMessage("go")]), lambda event: None)).usage
    assert usage is not None
    assert (usage.input_tokens, usage.cached_tokens) == (read + reread, reread)
    assert (usage.output_tokens, usage.reasoning_tokens) == (wrote + thought, thought)
    assert usage.cache_write_tokens == 0


@pytest.mark.contract("The chapter's agent works with it, in two rounds at one Parcel.", read=WIRE)
async def test_the_agent(target: ModuleType) -> None:
    words = {f"{name}.txt": token_hex(8) for name in "abc"}

    def reads(*paths: str) -> Answer:
        asks = ({"ability": "read_file", "with": {"path": path}} for path in paths)
        return turn(*({"ask": number, **each} for number, each in enumerate(asks, start=1)))

    def tells(received: Received) -> Answer:
        desks = [turn for turn in received.body["exchange"] if turn["by"] == "desk"]
        return turn({"text": " ".join(a["text"] for desk in desks for a in desk["answers"])})

    with parcel_server(reads("a.txt", "b.txt"), reads("c.txt", "no.txt"), tells) as server:
        async with model_at(target, server.base_url) as model:
            kit = fake_kit(model, files=MemoryFiles(words))
            plan = replace(ch04.plan(kit), system="Be brief.")
            reply = await plan.build(kit).ask("What is in the files?")
    assert all(word in reply.text for word in words.values())
    assert "file_not_found" in reply.text
    last = server.requests[-1].body
    assert last["brief"] == "Be brief."
    assert [a["failed"] for t in last["exchange"] for a in t.get("answers", ())] == [False] * 3 + [
        True
    ]
