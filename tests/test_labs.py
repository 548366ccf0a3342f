"""The labs: each one passes, and each of its facts can fail when the agent is broken."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest

import labs
from chapters import ch01, ch02, ch03, ch04, ch05
from chapters.ch01 import loop as ch01_loop
from chapters.ch03.boundary import WorkspaceBoundary
from chapters.ch04 import live as ch04_live
from chapters.ch04 import repair as ch04_repair
from chapters.ch04.downloads import list_download_files
from chapters.ch04.gemini_client import installed as gemini_is_installed
from chapters.ch04.names_and_ids import CallIds
from chapters.ch04.one_round import OneRound, answer_with_one_tool_round
from chapters.ch04.provider import Target
from chapters.ch05.preview import Preview
from chapters.ch05.validation import COERCING, STRICT, json_schema_tool
from labs import (
    arrival,
    ch01_loop_and_shell,
    ch02_file_tools,
    ch03_permissions,
    ch04_providers,
    ch05_streaming,
    long_arguments,
    provider_tour,
    round_by_hand,
    two_policies,
)
from labs.experiment import Answers
from labs.terminal import CONTINUED, AlwaysYes
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.events import Emit, Event, TextDelta, ToolCallDelta, ToolCallEnded, ToolStarted
from shared.messages import (
    AssistantMessage,
    Origin,
    Request,
    StopReason,
    ToolCall,
)
from shared.plan import Kit, Plan
from shared.ports import Model, ModelLayer, WorkspaceFiles
from shared.provider_stream import stream_of
from shared.scripted import ScriptedModel, call, last_result, says
from shared.testing import FakeClock
from shared.tools import Invoke, PreparedCall, Returned, Tool, ToolLayer
from tests.small_terminal import SmallTerminal

pytestmark = pytest.mark.anyio

LABS = [
    importlib.import_module(f"labs.{path.stem}")
    for path in sorted(Path(labs.__path__[0]).glob("ch[0-9][0-9]_*.py"))
]

Planner = Callable[[Kit], Plan]


@pytest.mark.parametrize("lab", LABS, ids=lambda lab: lab.__name__)
async def test_a_lab_passes_and_leaves_nothing_behind(
    lab: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    assert await lab.run(out=out), out.getvalue()
    assert "✗" not in out.getvalue()
    assert list(tmp_path.iterdir()) == []


async def test_a_lab_can_keep_its_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    out = io.StringIO()
    await ch02_file_tools.run(keep=True, out=out)
    (folder,) = tmp_path.iterdir()
    assert (folder / "workspace" / "demo" / "note.txt").read_bytes() == b"gamma\nalpha\n"
    assert str(folder) in out.getvalue()


async def failed_facts(lab: ModuleType, plan: Planner) -> list[str]:
    """The facts that do not hold for a broken agent."""
    out = io.StringIO()
    assert not await lab.run(out=out, plan=plan), out.getvalue()
    return [line.strip("✗ ") for line in out.getvalue().splitlines() if "✗" in line]


# Lab 1


def without_question(kit: Kit) -> Plan:
    return dataclasses.replace(ch01.plan(kit), tool_layers=())


def with_layer(
    base: Planner, act: Callable[[Invoke, PreparedCall], Awaitable[Returned]]
) -> Planner:
    def wrap(invoke: Invoke) -> Invoke:
        return lambda prepared: act(invoke, prepared)

    return lambda kit: base(kit).with_tool_layer(ToolLayer("broken", wrap))


async def canned(invoke: Invoke, prepared: PreparedCall) -> Returned:
    await invoke(prepared)
    return "amber-0000"


async def hide_failures(invoke: Invoke, prepared: PreparedCall) -> Returned:
    try:
        return await invoke(prepared)
    except ToolError:
        return "ok"


def without_tools_on_offer(kit: Kit) -> Plan:
    plan = ch01.plan(kit)

    def mute(tools: Any, invoke: Invoke) -> Any:
        dispatcher = plan.dispatcher(tools, invoke)
        dispatcher.specs = ()  # type: ignore[misc]
        return dispatcher

    return plan.with_dispatcher(mute)


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (without_question, "the refused command changed nothing: code.txt is still there"),
        (without_question, "a person was asked before each of the three commands"),
        (with_layer(ch01.plan, canned), "the answer holds the code word from the file"),
        (
            with_layer(ch01.plan, hide_failures),
            "a refusal and a failing command came back as data, and the run went on",
        ),
        (without_tools_on_offer, "every request offered the tool shell"),
    ],
)
async def test_lab_one_notices_a_broken_agent(broken: Planner, fact: str) -> None:
    assert fact in await failed_facts(ch01_loop_and_shell, broken)


# Lab 2


class BrokenFiles:
    """Passes everything on to real files, but for one method that a test replaces."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self.files = files

    async def read_text(self, path: str) -> str:
        return await self.files.read_text(path)

    async def write_text(self, path: str, content: str) -> int:
        return await self.files.write_text(path, content)

    async def edit_text(self, path: str, old: str, new: str) -> None:
        await self.files.edit_text(path, old, new)

    async def glob(self, pattern: str) -> list[str]:
        return await self.files.glob(pattern)

    async def resolve(self, path: str) -> str:
        return await self.files.resolve(path)


class EditsEverything(BrokenFiles):
    async def edit_text(self, path: str, old: str, new: str) -> None:
        text = await self.files.read_text(path)
        await self.files.write_text(path, text.replace(old, new))


class WritesNothing(BrokenFiles):
    async def write_text(self, path: str, content: str) -> int:
        return len(content)


class FindsAbsolutePaths(BrokenFiles):
    async def glob(self, pattern: str) -> list[str]:
        return [f"/workspace/{path}" for path in await self.files.glob(pattern)]


class ReadsAnything(BrokenFiles):
    root: Path

    async def read_text(self, path: str) -> str:
        return (self.root / path).read_text(encoding="utf-8")


def with_files(broken: type[BrokenFiles]) -> Planner:
    return lambda kit: ch02.plan(dataclasses.replace(kit, files=broken(kit.files)))


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (EditsEverything, "only the first alpha became gamma, on the disk"),
        (WritesNothing, "only the first alpha became gamma, on the disk"),
        (WritesNothing, "read_file returned what edit_file had written"),
        (FindsAbsolutePaths, "glob found the file by a relative path"),
        (ReadsAnything, "the way out was refused as path_escape"),
        (ReadsAnything, "no request ever held the text of ../secret.txt"),
    ],
)
async def test_lab_two_notices_a_broken_agent(
    broken: type[BrokenFiles], fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def folder(**_: object) -> Iterator[Path]:
        yield tmp_path

    monkeypatch.setattr(ch02_file_tools, "throw_away_folder", folder)
    monkeypatch.setattr(ch02_file_tools, "READS", 10)
    monkeypatch.setattr(ReadsAnything, "root", tmp_path / "workspace", raising=False)
    assert fact in await failed_facts(ch02_file_tools, with_files(broken))


async def test_lab_two_notices_a_reader_that_can_be_raced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A reader that leaks for certain stands for one that leaks now and then."""

    async def leaking(read: Callable[[], Awaitable[str]]) -> int:
        return 1

    monkeypatch.setattr(ch02_file_tools, "count_leaks", leaking)
    assert "under attack the walk never read the outside file" in await failed_facts(
        ch02_file_tools, ch02.plan
    )


# Lab 3


def with_kit(**changed: Any) -> Planner:
    return lambda kit: ch03.plan(dataclasses.replace(kit, **changed))


class NaivePrefix:
    """Allows what begins with the right word, whatever comes after it."""

    name = "rules"

    async def decide(self, prepared: PreparedCall) -> Decision:
        command = getattr(prepared.arguments, "command", "")
        says = Behaviour.ALLOW if command.startswith("echo") else Behaviour.PASS
        return Decision(says, "it begins with echo", self.name, by_person=True)


def with_naive_prefix(kit: Kit) -> Plan:
    return ch03.plan(dataclasses.replace(kit, participants=(*kit.participants, NaivePrefix())))


async def no_reason(invoke: Invoke, prepared: PreparedCall) -> Returned:
    try:
        return await invoke(prepared)
    except ToolError as error:
        raise ToolError(error.code, "Denied.") from None


class AuditOfRefusals:
    """Writes down nothing but refusals."""

    def __init__(self, kit: Kit) -> None:
        assert kit.audit is not None
        self.audit = kit.audit

    def record(self, entry: Mapping[str, Any]) -> None:
        if entry["decision"] == "deny":
            self.audit.record(entry)


def with_audit_of_refusals(kit: Kit) -> Plan:
    return ch03.plan(dataclasses.replace(kit, audit=AuditOfRefusals(kit)))


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (ch02.plan, "the file that a rule protects is unchanged"),
        (ch02.plan, "no tool ran without a line in the audit that allows it"),
        (with_kit(participants=()), "allow: a rule of the file let the draft through"),
        (
            with_kit(participants=()),
            "a person was asked three times: where no rule decided, and nowhere else",
        ),
        (with_kit(approver=AlwaysYes()), "ask: the person said no to replacing the plan"),
        (with_kit(approver=AlwaysYes()), "the plan has its first line and one more"),
        (with_naive_prefix, 'the rule that allows "echo" allowed no second command'),
        (with_layer(ch03.plan, no_reason), "the reason for the no reached the model"),
        (with_layer(ch03.plan, no_reason), "the plan has its first line and one more"),
        (
            with_layer(ch03.plan, hide_failures),
            "every refusal has a line in the audit that denies it",
        ),
        (
            with_audit_of_refusals,
            "the audit holds one line for every call, in the order of the calls",
        ),
        (with_audit_of_refusals, "pass: nobody objects to reading, so it is allowed"),
    ],
)
async def test_lab_three_notices_a_broken_agent(broken: Planner, fact: str) -> None:
    assert fact in await failed_facts(ch03_permissions, broken)


async def test_lab_three_notices_a_boundary_that_lets_everything_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def everything(self: WorkspaceBoundary, prepared: PreparedCall) -> Decision:
        return Decision(Behaviour.PASS, "looks fine", self.name)

    monkeypatch.setattr(WorkspaceBoundary, "decide", everything)
    assert "deny: the boundary stopped the way out" in await failed_facts(
        ch03_permissions, ch03.plan
    )


# Lab 4

Round = Callable[[Model, list[Tool], str], Awaitable[OneRound]]


async def round_after_round(model: Model, tools: list[Tool], question: str) -> OneRound:
    """Does not stop: what is asked for again is asked about again."""
    outcome = await answer_with_one_tool_round(model, tools, question)
    if outcome.asks_again:
        await tools[0].handler(tools[0].validate({}))
        return await answer_with_one_tool_round(model, tools, question)
    return outcome


async def round_of_its_own(model: Model, tools: list[Tool], question: str) -> OneRound:
    """Runs the last call as well, and tells nobody."""
    outcome = await answer_with_one_tool_round(model, tools, question)
    if outcome.asks_again:
        await tools[0].handler(tools[0].validate({}))
    return outcome


async def answer_from_nowhere(model: Model, tools: list[Tool], question: str) -> OneRound:
    outcome = await answer_with_one_tool_round(model, tools, question)
    reply = says("There are two: a.pdf and b.pdf")
    return OneRound((*outcome.messages[:-1], reply), reply)


async def no_round(model: Model, tools: list[Tool], question: str) -> OneRound:
    reply = says("I cannot look.")
    return OneRound((reply,), reply)


@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (round_after_round, "the model was asked twice at most"),
        (round_after_round, "the second question was left with an open call"),
        (round_of_its_own, "for each of them the tool ran once"),
        (answer_from_nowhere, "the answer holds the names, which are new in every run"),
        (no_round, "the first question took four messages"),
        (no_round, "the result names the PDFs, and nothing that only looks like one"),
    ],
)
async def test_lab_four_notices_a_broken_round(
    broken: Round, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(round_by_hand, "answer_with_one_tool_round", broken)
    assert fact in await failed_facts(ch04_providers, ch04.plan)


def listing(change: Callable[[str], str]) -> Callable[[WorkspaceFiles], Tool]:
    """The tool of the chapter, with something done to what it returns."""

    def define(files: WorkspaceFiles) -> Tool:
        tool = list_download_files(files)

        async def handler(arguments: Any) -> str:
            return change(str(await tool.handler(arguments)))

        return dataclasses.replace(tool, handler=handler)

    return define


@pytest.mark.parametrize(
    ("suffix", "fact"),
    [
        ("\nfolder.pdf", "the result names the PDFs, and nothing that only looks like one"),
        ("\nin {folder}/downloads", "no message says where the folder is"),
    ],
)
async def test_lab_four_notices_a_broken_tool(
    suffix: str, fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextlib.contextmanager
    def folder(**_: object) -> Iterator[Path]:
        yield tmp_path

    added = suffix.format(folder=tmp_path)
    monkeypatch.setattr(ch04_providers, "throw_away_folder", folder)
    monkeypatch.setattr(
        round_by_hand, "list_download_files", listing(lambda text: f"{text}{added}")
    )
    assert fact in await failed_facts(ch04_providers, ch04.plan)


async def test_lab_four_notices_a_result_that_was_not_read() -> None:
    failed = await failed_facts(ch04_providers, with_layer(ch04.plan, canned))
    assert "the answer holds the code word" in failed
    assert "the word read at the first provider is in the request to the second" in failed


def renamed(reply: AssistantMessage, *_: object) -> AssistantMessage:
    """The reply with ids of our own, where its provider will not know them again."""
    content = [
        dataclasses.replace(part, id=f"own_{uuid4().hex}") if isinstance(part, ToolCall) else part
        for part in reply.content
    ]
    return dataclasses.replace(reply, content=tuple(content))


@pytest.mark.parametrize(
    ("where", "name", "broken", "fact"),
    [
        (
            CallIds,
            "assign",
            lambda self, call_id: call_id,
            "an id that a provider does not take was rewritten for it",
        ),
        (
            CallIds,
            "assign",
            lambda self, call_id: call_id,
            "no provider has anything to refuse",
        ),
        (
            ch04_repair,
            "result_of",
            lambda call, result, target: result,
            "each call was answered once, under the id that it was sent with",
        ),
        (ch04_repair, "SENT_BACK", frozenset(), "each request held every call so far"),
        (ch04_live, "finish", renamed, "in our own history every id is as it came"),
        (
            Target,
            "origin",
            Origin("", "", "always at home"),
            "a signed thought went back to its own provider, and to nobody else",
        ),
        (
            Target,
            "origin",
            property(lambda self: Origin("", "", f"never at home: {uuid4()}")),
            "a signed thought went back to its own provider, and to nobody else",
        ),
        (
            provider_tour,
            "ANSWERS",
            {**provider_tour.ANSWERS, provider_tour.RESPONSES: ()},
            "each provider was asked in its turn",
        ),
    ],
)
async def test_lab_four_notices_a_broken_adapter(
    where: object, name: str, broken: object, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    assert fact in await failed_facts(ch04_providers, ch04.plan)


async def test_lab_four_goes_without_gemini_where_its_client_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ch04_providers, "gemini_is_installed", lambda: False)
    out = io.StringIO()
    assert await ch04_providers.run(out=out), out.getvalue()
    assert "pip install -e '.[gemini]'" in out.getvalue()
    assert "Local servers play 3 providers" in out.getvalue()
    assert "5 turns, 55 tokens sent, 35 received" in out.getvalue()
    assert "asked   Google Gemini" not in out.getvalue()
    assert "Gemini gets no ids" not in out.getvalue()


@pytest.mark.skipif(not gemini_is_installed(), reason="needs google-genai")
async def test_every_reply_of_the_tour_is_in_its_totals() -> None:
    out = io.StringIO()
    assert await ch04_providers.run(out=out), out.getvalue()
    assert "Local servers play 4 providers" in out.getvalue()
    assert "6 turns, 66 tokens sent, 42 received" in out.getvalue()
    assert "Gemini gets no ids" not in out.getvalue()  # those before 3 did


async def test_lab_four_with_a_live_model_stays_at_one_provider() -> None:
    """A model that answers whatever it is asked stands for the one in a .env."""
    script = [
        *round_by_hand.one_round(),
        says("There is only one round in me."),
        says(call("read_file", path="word.txt")),
        lambda request: says(f"It is {last_result(request).text.strip()}."),
    ]
    out = io.StringIO()
    assert await ch04_providers.run(live=ScriptedModel(script), out=out), out.getvalue()
    assert "2. The same task at your provider only" in out.getvalue()
    assert "Local servers" not in out.getvalue()


# Lab 5

Tell = Callable[[Emit, list[Event]], Emit]


def telling(tell: Tell, base: Planner = ch05.plan) -> Planner:
    """The agent of the chapter, whose listeners are told something else about a reply."""

    class Broken:
        def __init__(self, model: Model) -> None:
            self.model = model

        async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
            kept: list[Event] = []
            try:
                return await self.model.reply(request, tell(emit, kept))
            finally:
                for event in kept:
                    emit(event)

    return lambda kit: base(kit).with_model_layer(ModelLayer("broken", Broken))


def at_the_end(emit: Emit, kept: list[Event]) -> Emit:
    """Nothing is told before the reply is there."""
    return kept.append


def nothing(emit: Emit, kept: list[Event]) -> Emit:
    return lambda event: None


def twice(kind: type[Event]) -> Tell:
    def tell(emit: Emit, kept: list[Event]) -> Emit:
        def told(event: Event) -> None:
            emit(event)
            if isinstance(event, kind):
                emit(event)

        return told

    return tell


def started_at_once(emit: Emit, kept: list[Event]) -> Emit:
    """A tool starts as soon as its call looks whole."""

    def told(event: Event) -> None:
        emit(event)
        if isinstance(event, ToolCallEnded):
            emit(ToolStarted(event.call))

    return told


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """What breaks a short run of lab 5 breaks a long one."""
    monkeypatch.setattr(arrival, "PATIENCE", 0.05)
    monkeypatch.setattr(long_arguments, "SIZE", 20_000)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(
    ("broken", "fact"),
    [
        (telling(at_the_end), "the first words were seen before the server sent the rest"),
        (telling(nothing), "every reply was told while it arrived"),
        (telling(nothing), "the path could be shown with the first piece"),
        (telling(twice(TextDelta)), "the pieces of text, put together, are what the model said"),
        (
            telling(twice(ToolCallDelta)),
            "the pieces of arguments, put together, are those of the calls",
        ),
        (telling(started_at_once), "no tool started while a reply was arriving"),
        (ch04.plan, "the answer holds the code word"),
        (ch04.plan, "the server was asked three times"),
        (ch04.plan, "after the 429 the very same request was sent again"),
        (ch04.plan, "before that the agent waited as long as it was told"),
        (with_layer(ch05.plan, canned), "the answer holds the code word"),
        (with_layer(ch05.plan, canned), "strict: the answer holds the word"),
        (with_layer(ch05.plan, canned), "coercing: the answer holds the word"),
        (
            lambda kit: ch05.plan(dataclasses.replace(kit, files=WritesNothing(kit.files))),
            "the file was written once, whole, when the reply had ended",
        ),
        (
            lambda kit: ch05.plan(dataclasses.replace(kit, approver=AlwaysYes())),
            "a person was asked about that, and about nothing else",
        ),
    ],
)
async def test_lab_five_notices_a_broken_agent(broken: Planner, fact: str) -> None:
    assert fact in await failed_facts(ch05_streaming, broken)


@pytest.mark.usefixtures("_short")
async def test_lab_five_says_what_arrives_and_under_which_policy_a_fact_holds() -> None:
    out = io.StringIO()
    assert await ch05_streaming.run(out=out)
    told = " ".join(out.getvalue().split())
    found = re.search(r"The content has 20,000 characters\. ([\d,]+) arrive: ([\d,]+) more", told)
    assert found is not None
    arrived, more = (int(number.replace(",", "")) for number in found.groups())
    assert arrived - more == 20_000
    assert 0 < more < 4_000
    last = out.getvalue().rpartition("Facts\n")[2].splitlines()
    facts = [line.strip(" ✓") for line in last if "✓" in line]
    assert len(facts) == 10
    assert all(fact.startswith(("strict: ", "coercing: ")) for fact in facts)


@pytest.mark.parametrize("columns", [40, 80])
async def test_the_question_of_a_lab_is_broken_between_words(columns: int) -> None:
    terminal = SmallTerminal(columns)
    question = "May the agent use shell (execute)? Its effect is execute. [y/N] "
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        assert await Answers(("shell",), terminal).ask(question) == "yes"
    assert not terminal.wrapped
    shown = " ".join(line.removeprefix(CONTINUED).strip() for line in terminal.lines)
    assert shown == f"{question}yes"
    piped = io.StringIO()
    await Answers(("shell",), piped).ask(question)
    assert piped.getvalue() == f"{question}yes\n"


class AtEveryPiece(Preview):
    """Reads everything again whenever something has come."""

    def so_far(self) -> dict[str, Any]:
        return dict(self.whole())


class Guessing(Preview):
    """Shows what is not there."""

    def so_far(self) -> dict[str, Any]:
        return {**super().so_far(), "content": "Guessed"}


class Late(Preview):
    """Shows something when it is all there."""

    def so_far(self) -> dict[str, Any]:
        shown = super().so_far()
        return shown if len(str(shown)) > long_arguments.SIZE // 2 else {}


def all_or_nothing(policy: object) -> Callable[..., Tool]:
    """Whatever is asked for, it is this policy."""

    def define(spec: Any, effect: Any, handler: Any, _: object) -> Tool:
        return json_schema_tool(spec, effect, handler, policy)  # type: ignore[arg-type]

    return define


def unchecked(spec: Any, effect: Any, handler: Any, _: object) -> Tool:
    return Tool(spec, effect, dict, handler)


@pytest.mark.usefixtures("_short")
@pytest.mark.parametrize(
    ("where", "name", "broken", "fact"),
    [
        (
            long_arguments,
            "Preview",
            AtEveryPiece,
            "all previews together read less than 15 times the text",
        ),
        (
            long_arguments,
            "Preview",
            Guessing,
            "each preview was a beginning of the argument, and none shrank",
        ),
        (long_arguments, "Preview", Late, "the path could be shown with the first piece"),
        (ch01_loop, "FINISHED", frozenset(StopReason), "of the spoilt reply nothing ran"),
        (
            two_policies,
            "json_schema_tool",
            all_or_nothing(COERCING),
            "strict: the first call was refused, the second one ran",
        ),
        (
            two_policies,
            "json_schema_tool",
            all_or_nothing(COERCING),
            "strict: the model was told where, why, and what it had sent",
        ),
        (
            two_policies,
            "json_schema_tool",
            all_or_nothing(STRICT),
            "coercing: the call ran at once",
        ),
        (
            two_policies,
            "json_schema_tool",
            all_or_nothing(STRICT),
            "coercing: in the history the call is as the model wrote it",
        ),
        (
            two_policies,
            "json_schema_tool",
            unchecked,
            "coercing: the handler got a number as well",
        ),
        (
            two_policies,
            "json_schema_tool",
            unchecked,
            "strict: the handler got the number that was sent",
        ),
        (
            arrival,
            "stream_of",
            lambda reply, step=0: stream_of(reply, step=10_000),
            "the arguments of the call came in several pieces",
        ),
    ],
)
async def test_lab_five_notices_a_broken_part(
    where: object, name: str, broken: object, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, broken)
    assert fact in await failed_facts(ch05_streaming, ch05.plan)


@pytest.mark.usefixtures("_short")
async def test_lab_five_with_a_live_model_does_one_task_and_no_more() -> None:
    """A streaming model behind a server of ours stands for the one in a .env."""
    first = arrival.Arrival()
    out = io.StringIO()
    async with arrival.scripted_arrival(first, None) as (model, server, _):
        assert server is not None
        assert await ch05_streaming.run(live=model, out=out, plan=without_waits), out.getvalue()
    assert "1. A reply that is seen while it arrives" in out.getvalue()
    assert "2. An argument" not in out.getvalue()


def without_waits(kit: Kit) -> Plan:
    return ch05.plan(dataclasses.replace(kit, clock=FakeClock()))
