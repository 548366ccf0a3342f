"""What goes wrong on the way to the provider: it ends as promised, and a bad agent is found out."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import io
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters import ch04, ch05
from chapters.ch01 import dispatch as ch01_dispatch
from chapters.ch01 import loop as ch01_loop
from chapters.ch04.known_servers import KNOWN
from chapters.ch05 import streaming as ch05_streaming
from chapters.ch05.retry import Patience, retrying
from labs import fault_lab
from labs.fault_lab import ALL, Faced, check_requests, run_fault
from labs.fault_scripts import Names
from labs.faults import FAULTS, UnknownFault, fault_named
from labs.faulty_provider import streaming_from
from labs.terminal import AlwaysYes
from shared.errors import ProviderError
from shared.events import Emit
from shared.facts import Facts
from shared.messages import AssistantMessage, Request, StopReason, ToolCall, ToolResult, UserMessage
from shared.plan import Kit, Plan
from shared.ports import Model, ModelLayer
from shared.provider_server import ProviderServer, completion, wire_call
from shared.provider_stream import stream_of, streamed
from shared.scripted import call, says
from shared.testing import FakeClock
from tests.command_line import Workbook, environment

Planner = Callable[[Kit], Plan]
Ask = Callable[[Model, Request, Emit], Awaitable[AssistantMessage]]


@pytest.mark.anyio
@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_ends_as_promised_and_leaves_nothing_behind(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    assert await run_fault(name, out=out), out.getvalue()
    shown = out.getvalue()
    assert shown.index("goes wrong") < shown.index("must come") < shown.index("── turn 1")
    assert "✗" not in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.anyio
async def test_all_runs_each_of_them_and_one_that_fails_is_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = []

    async def run_one(name: str, *_: Any, **__: Any) -> bool:
        ran.append(name)
        return name != "drop"

    monkeypatch.setattr(fault_lab, "run_one", run_one)
    out = io.StringIO()
    assert not await run_fault(ALL, out=out)
    assert ran == list(FAULTS)
    assert out.getvalue().endswith(f"\n{len(FAULTS)} faults: drop did not hold.\n")
    assert await run_fault("html", out=io.StringIO())


@pytest.mark.anyio
async def test_all_of_them_are_introduced_once_and_summed_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = {name: FAULTS[name] for name in ("half-json", "duplicate-id")}
    monkeypatch.setattr(fault_lab, "FAULTS", few)
    out = io.StringIO()
    assert await run_fault(ALL, out=out)
    assert out.getvalue().count("The provider is a script") == 1
    assert out.getvalue().count("── turn 1") == 2
    assert out.getvalue().endswith("\n2 faults: all hold.\n")


@pytest.mark.parametrize(
    "command", [("lab", "5"), ("run", "--chapter", "5", "--prompt", "Write the word down.")]
)
def test_a_second_fault_is_not_taken_in_the_place_of_the_first(
    workbook: Workbook, command: tuple[str, ...]
) -> None:
    ended = workbook(*command, "--fault", "drop", "--fault", "html")
    assert ended.exit == 2
    assert "--fault was given 2 times" in ended.err
    assert "turn 1" not in ended.out + ended.err


def test_a_fault_that_does_not_exist_is_answered_with_those_that_do() -> None:
    with pytest.raises(UnknownFault) as caught:
        fault_named("dorp")
    assert all(name in str(caught.value) for name in FAULTS)


# Agents that get it wrong


def model_layer(ask: Ask) -> Planner:
    """The agent of the chapter, with a layer inside of the one that sends again."""

    class Broken:
        def __init__(self, model: Model) -> None:
            self.model = model

        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            return await ask(self.model, request, emit)

    def plan(kit: Kit) -> Plan:
        before, after = ch04.plan(kit), ch05.plan(kit)
        layers = (*before.model_layers, ModelLayer("broken", Broken), *after.model_layers)
        return dataclasses.replace(after, model_layers=layers)

    return plan


def patience(**changed: Any) -> Planner:
    def plan(kit: Kit) -> Plan:
        assert kit.clock is not None
        layer = retrying(kit.clock, Patience(**changed))
        return ch05.plan(kit).with_model_layer(layer, replacing="retry")

    return plan


async def impatient(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Forgets how long the provider wants to be left alone."""
    try:
        return await model.reply(request, emit)
    except ProviderError as error:
        error.retry_after = None
        raise


async def never_the_same(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Asks something else each time."""
    system = f"{id(emit)} {asyncio.get_running_loop().time()}"
    return await model.reply(dataclasses.replace(request, system=system), emit)


async def without_reasons(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Hides from the model why something failed."""
    messages = [
        dataclasses.replace(each, text="failed") if isinstance(each, ToolResult) else each
        for each in request.messages
    ]
    return await model.reply(dataclasses.replace(request, messages=tuple(messages)), emit)


async def without_words(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Raises errors that say nothing."""
    try:
        return await model.reply(request, emit)
    except ProviderError as error:
        error.args = ("It failed.",)
        raise


async def asks_twice(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Throws every first reply away."""
    await model.reply(request, emit)
    return await model.reply(request, emit)


async def makes_something_up(model: Model, request: Request, emit: Emit) -> AssistantMessage:
    """Has a reply where there is none."""
    try:
        return await model.reply(request, emit)
    except ProviderError:
        if isinstance(request.messages[-1], ToolResult):
            return says("Done.")
        return says(call("write_file", id="made_up", path="page.txt", content="Welcome"))


def without_questions(kit: Kit) -> Plan:
    return ch05.plan(dataclasses.replace(kit, approver=AlwaysYes()))


async def failed_facts(name: str, plan: Planner = ch05.plan) -> list[str]:
    """The facts that do not hold for a broken agent."""
    out = io.StringIO()
    assert not await run_fault(name, out=out, plan=plan), out.getvalue()
    print(out.getvalue())
    return [line.strip("✗ ") for line in out.getvalue().splitlines() if "✗" in line]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "broken", "fact"),
    [
        ("drop", ch04.plan, "a request was sent again after: connection"),
        ("drop", ch04.plan, "there is an answer, with the word"),
        ("drop", ch04.plan, "the results of the calls are: done"),
        ("stall", ch04.plan, "a request was sent again after: timeout"),
        ("no-finish", ch04.plan, "a request was sent again after: incomplete_stream"),
        ("error-in-200", ch04.plan, "a request was sent again after: provider"),
        ("429-twice", patience(requests=2), "the provider was asked 4 times"),
        ("429-twice", patience(longest_asked=0.7), "there is an answer, with the word"),
        (
            "429-twice",
            model_layer(impatient),
            "before that it waited as long as it was told",
        ),
        ("drop", model_layer(never_the_same), "what was sent again was the very same request"),
        ("html", patience(unreadable=3), "the provider was asked 2 times"),
        (
            "html",
            ch04.plan,
            "it says how often the provider was asked, and which setting to check",
        ),
        (
            "html",
            model_layer(without_words),
            "it says how often the provider was asked, and which setting to check",
        ),
        ("html", model_layer(makes_something_up), "there is no answer, but an error"),
        ("html", model_layer(makes_something_up), "no call came of it"),
        ("html", model_layer(makes_something_up), "nobody was asked, and nothing was written"),
        ("cut-off", model_layer(asks_twice), "no request was sent again"),
        ("half-json", model_layer(without_reasons), "the model was told why, in words"),
        ("cut-off", model_layer(without_reasons), "the model was told why, in words"),
        ("drop", without_questions, "a person was asked about that, and about nothing else"),
    ],
)
async def test_a_fault_finds_an_agent_that_handles_it_badly(
    name: str, broken: Planner, fact: str
) -> None:
    assert fact in await failed_facts(name, broken)


def lenient(text: str, *_: object) -> Mapping[str, Any]:
    """Closes whatever is open: the favourite mistake."""
    try:
        parsed: dict[str, Any] = json.loads(text)
    except json.JSONDecodeError:
        parsed = json.loads(text + '"}')
    return parsed


def renamed(reply: AssistantMessage, *_: object) -> AssistantMessage:
    """The reply, each of whose calls has an id of our own."""
    content = [
        dataclasses.replace(part, id=f"own_{uuid4().hex}") if isinstance(part, ToolCall) else part
        for part in reply.content
    ]
    return dataclasses.replace(reply, content=tuple(content))


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "where", "attribute", "broken", "fact"),
    [
        (
            "cut-off",
            ch01_loop,
            "FINISHED",
            frozenset(StopReason),
            "of the spoilt reply nothing ran",
        ),
        ("half-json", ch01_dispatch, "parse_arguments", lenient, "of the spoilt reply nothing ran"),
        (
            "duplicate-id",
            ch05_streaming,
            "finish",
            lambda reply, *_: reply,
            "what whole replies asked for ran, and nothing else",
        ),
        (
            "duplicate-id",
            ch05_streaming,
            "finish",
            renamed,
            "the first call keeps the id it came with, and the other has a new one",
        ),
    ],
)
async def test_a_fault_finds_code_that_lets_something_spoilt_pass(
    name: str,
    where: object,
    attribute: str,
    broken: object,
    fact: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(where, attribute, broken)
    assert fact in await failed_facts(name)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "fact",
    [
        "of the spoilt reply nothing ran",
        "what whole replies asked for ran, and nothing else",
        "nothing of the spoilt reply is in the history",
        "a request was sent again after: incomplete_stream",
    ],
)
async def test_a_fault_finds_a_client_that_takes_half_a_reply_for_a_whole_one(
    fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gullible = dataclasses.replace(KNOWN["openai"], finish_required=False)
    monkeypatch.setitem(KNOWN, "openai", gullible)
    assert fact in await failed_facts("no-finish")


def test_a_client_that_does_not_hang_up_is_found() -> None:
    out = io.StringIO()
    faced = Faced(None, [], [], [], [], [], hung_up=False)  # type: ignore[arg-type]
    facts = Facts(out)
    check_requests(facts, FAULTS["stall"], faced)
    assert "the agent hung up on the provider that said nothing" in facts.failed


# What the scripts send


@given(
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
    calls=st.lists(
        st.dictionaries(st.sampled_from("ab"), st.text('x\n"é😀', max_size=20)), max_size=3
    ),
    step=st.integers(1, 40),
)
@settings(max_examples=25, deadline=None)
def test_a_reply_that_is_streamed_is_the_reply(
    text: str, calls: list[dict[str, str]], step: int
) -> None:
    asked = [wire_call(f"call_{number}", "shell", call) for number, call in enumerate(calls)]

    async def ask() -> AssistantMessage:
        with ProviderServer(
            streamed(*stream_of(completion(*asked, text=text), step=step))
        ) as server:
            async with streaming_from(server) as model:
                return await model.reply(Request((UserMessage("hi"),)), lambda event: None)

    reply = asyncio.run(ask())
    assert reply.text == text
    assert [(call.id, json.loads(call.arguments)) for call in reply.calls] == [
        (f"call_{number}", call) for number, call in enumerate(calls)
    ]
    assert reply.usage is not None


# From the command line


@pytest.mark.parametrize("name", ["no-finish", "half-json"])
def test_a_fault_is_chosen_by_its_name(name: str, workbook: Workbook) -> None:
    ended = workbook("lab", "5", "--fault", name)
    assert (ended.exit, ended.err) == (0, "")
    assert f"Fault {name}" in ended.out
    assert "facts hold." in ended.out


def test_a_fact_that_does_not_hold_is_an_exit_code(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ch01_loop, "FINISHED", frozenset(StopReason))
    assert workbook("lab", "5", "--fault", "cut-off").exit == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("lab", "5", "--fault", "dorp"), "The faults are: cut-off, drop, stall,"),
        (("lab", "4", "--fault", "drop"), "Lab 4 has no faults"),
        (("lab", "5", "--fault", "drop", "--live"), "no --live"),
        (("run", "--chapter", "5", "--prompt", "hi", "--fault", "dorp"), "The faults are:"),
        (("run", "--chapter", "4", "--prompt", "hi", "--fault", "drop"), "--chapter 5"),
        (
            ("run", "--chapter", "5", "--prompt", "hi", "--fault", "drop", "--model", "human"),
            "leave out --provider and --model",
        ),
        (
            ("run", "--chapter", "5", "--prompt", "hi", "--fault", "drop", "--provider", "openai"),
            "leave out --provider and --model",
        ),
    ],
)
def test_a_fault_that_cannot_be_had_is_refused_and_nothing_runs(
    words: tuple[str, ...], said: str, workbook: Workbook
) -> None:
    ended = workbook(*words)
    assert (ended.exit, ended.out) == (2, "")
    assert said in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


RUN = ("run", "--chapter", "5", "--prompt", "hi", "--fault")


@pytest.fixture
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.kit.SystemClock", FakeClock)


@pytest.mark.usefixtures("_no_waiting")
def test_a_task_with_a_fault_needs_no_key_and_ends_well(workbook: Workbook) -> None:
    ended = workbook(*RUN, "drop", "--approve", "always")
    assert ended.exit == 0
    (written,) = workbook.here.iterdir()
    word = written.stem
    assert (ended.out, written.read_text()) == (f"Done. The word is {word}.\n", f"{word}\n")
    assert "goes wrong" in ended.err
    assert "must come" in ended.err
    assert "again" in ended.err
    assert Names(word).spoilt not in ended.err.partition("again")[2]


@pytest.mark.usefixtures("_no_waiting")
def test_a_task_whose_call_is_denied_writes_nothing(workbook: Workbook) -> None:
    ended = workbook(*RUN, "no-finish", "--approve", "never")
    assert (ended.exit, ended.out) == (0, "Not written.\n")
    assert list(workbook.here.iterdir()) == []


@pytest.mark.usefixtures("_no_waiting")
def test_a_task_that_no_retry_helps_fails_and_says_what_to_check(workbook: Workbook) -> None:
    ended = workbook(*RUN, "html", "--approve", "always", "--json")
    assert ended.exit == 1
    said = json.loads(ended.out)
    assert said["error"]["type"] == "ProviderError"
    assert "WORKBOOK_BASE_URL" in said["error"]["message"]
    assert "sent 2 times" in said["error"]["message"]


@pytest.mark.skipif(os.name != "posix", reason="opens a terminal of its own")
@pytest.mark.parametrize("piped", [False, True])
def test_an_answer_seen_while_it_arrived_is_not_printed_again_on_the_same_terminal(
    piped: bool, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    words = [*RUN, "duplicate-id", "--approve", "never", "--workspace", str(workspace)]
    terminal, side = os.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "from labs.cli import main; main()", *words],
        env=environment(TERM="xterm", XDG_STATE_HOME=str(tmp_path / "state")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if piped else side,
        stderr=side,
    ) as running:
        os.close(side)
        shown = b""
        with contextlib.suppress(OSError):  # on Linux, the way a terminal ends
            while piece := os.read(terminal, 4096):
                shown += piece
        printed = running.stdout.read() if running.stdout else b""
    os.close(terminal)
    assert running.returncode == 0
    assert printed == (b"Not written.\n" if piped else b"")
    assert shown.count(b"Not written.") == 1
