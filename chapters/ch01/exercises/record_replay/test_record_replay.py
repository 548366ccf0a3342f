"""The promises of record and replay: each message at once and exactly; then again, offline."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from chapters import ch01
from chapters.ch01.exercises.transcript import transcript
from shared.conversation import Conversation
from shared.errors import ProviderError, RunError
from shared.events import Event, TurnStarted
from shared.messages import (
    AssistantMessage,
    Message,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from shared.ports import CommandOutcome
from shared.scripted import Reply, ScriptedModel, call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit

pytestmark = pytest.mark.anyio

LOOP = "chapters/ch01/README.md#the-loop-that-holds"
WHOLE = "chapters/ch01/README.md#a-history-that-cannot-break"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"
PORTS = "chapters/ch01/README.md#ports-and-fakes"

LS = call("shell", command="ls")


def outcome(command: str) -> CommandOutcome:
    """What the recorded machine says: `false` fails, everything else repeats its command."""
    return CommandOutcome(f"{command}!\n", int(command == "false"))


async def recorded(
    target: ModuleType, *replies: Reply, prompts: Sequence[str] = ("go",), max_turns: int = 20
) -> tuple[list[str], Conversation, list[Request]]:
    """A conversation that was recorded: its lines, itself, and the requests that were sent."""
    lines = io.StringIO()
    requests: list[Request] = []
    kit = fake_kit(
        ScriptedModel(replies), commands=FakeCommands(outcome), approver=FakeApprover("yes")
    )
    plan = ch01.plan(kit).with_listeners(target.record(lines), keep_requests(requests))
    conversation = plan.build(kit)
    for prompt in prompts:
        try:
            await conversation.ask(prompt, max_turns=max_turns)
        except RunError:
            break
    return lines.getvalue().split("\n")[:-1], conversation, requests


async def replayed(
    target: ModuleType, lines: Sequence[str]
) -> tuple[list[Message], list[Request], FakeCommands, FakeApprover]:
    """The replay of these lines: its history, its requests, and what it did to the world."""
    commands, approver = FakeCommands(), FakeApprover("no")
    requests: list[Request] = []
    plan = ch01.plan(fake_kit(commands=commands, approver=approver))
    conversation = await target.replay(
        target.read_recording(lines), plan.with_listeners(keep_requests(requests))
    )
    return list(conversation.history), requests, commands, approver


def keep_requests(requests: list[Request]) -> Callable[[Event], None]:
    """A listener that keeps every request of a run."""

    def listen(event: Event) -> None:
        if isinstance(event, TurnStarted):
            requests.append(event.request)

    return listen


def unfolded(requests: Sequence[Request]) -> list[tuple[list[Message], object, str]]:
    """Requests in a form in which they can be compared."""
    return [(list(each.messages), each.tools, each.system) for each in requests]


@pytest.mark.contract(
    "Each message becomes one line of JSON, in order, when it is added.", read=PLACES
)
async def test_each_message_is_one_line(target: ModuleType) -> None:
    lines, *_ = await recorded(target, says("First\na look.", LS), says("done"))
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["user", "assistant", "result", "assistant"], "\n".join(lines)


@pytest.mark.contract("What is read is what was said: every field of every message.", read=WHOLE)
async def test_what_is_read_is_what_was_said(target: ModuleType) -> None:
    reply = AssistantMessage(
        (
            Text("Two looks."),
            LS,
            Text("And:"),
            call("shell", command="false"),
            ToolCall("", "x", "{"),
        ),
        StopReason.TOOL_USE,
        finish="tool_calls",
        usage=Usage(12, 34),
    )
    lines, conversation, _ = await recorded(target, reply, says("done"))
    assert target.read_recording(lines) == list(conversation.history)


@pytest.mark.contract("Text survives, whatever its characters.", read=PLACES)
@pytest.mark.parametrize(
    "text", ["naïve 你好 🙂", "a\r\nb\tc\x1b[0m", "a\u2028b\x85c", "half a pair: \ud83d"]
)
async def test_every_character_survives(target: ModuleType, tmp_path: Path, text: str) -> None:
    path = tmp_path / "run.jsonl"
    kit = fake_kit(ScriptedModel([says(text)]))
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        await ch01.plan(kit).with_listeners(target.record(lines)).build(kit).ask("go")
    with path.open(encoding="utf-8") as lines:
        assert target.read_recording(lines) == [UserMessage("go"), says(text)]


@pytest.mark.contract("A crash loses nothing: what was said so far stands in the file.", read=WHOLE)
async def test_a_crash_loses_nothing(target: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    seen: list[int] = []

    def look(request: Request) -> AssistantMessage:
        """What another program finds in the file while the model is thinking."""
        seen.append(len(path.read_text(encoding="utf-8").splitlines()))
        return says(LS)

    kit = fake_kit(ScriptedModel([look, look, look]))
    with path.open("w", encoding="utf-8") as lines:
        conversation = ch01.plan(kit).with_listeners(target.record(lines)).build(kit)
        with pytest.raises(RunError):
            await conversation.ask("go", max_turns=3)
    assert seen == [1, 3, 5], f"lines in the file when the model was asked: {seen}, not [1, 3, 5]"


@pytest.mark.contract("A replay sends the same requests and gets the same results.", read=LOOP)
@pytest.mark.parametrize(
    "replies",
    [
        [says("Hello.")],
        [says("I look.", LS), says("done")],
        [says(LS, call("shell", command="false")), says("done")],
        [says(call("sheel", command="ls"), ToolCall("", "shell", "{"), LS), says("done")],
        [says(LS, stop=StopReason.MAX_TOKENS), says(LS), says("done")],
        [says("I do not do that.", stop=StopReason.REFUSAL)],
    ],
    ids=["text", "call", "failure", "refused calls", "cut off", "refusal"],
)
async def test_the_replay_is_the_same(target: ModuleType, replies: list[Reply]) -> None:
    lines, conversation, requests = await recorded(target, *replies)
    history, again, _, _ = await replayed(target, lines)
    assert history == list(conversation.history), transcript(history)
    assert unfolded(again) == unfolded(requests)


@pytest.mark.contract("A replay runs nothing and asks nobody.", read=PORTS)
async def test_a_replay_runs_nothing(target: ModuleType) -> None:
    lines, *_ = await recorded(target, says(call("shell", command="rm -r build")), says("done"))
    history, _, commands, approver = await replayed(target, lines)
    assert commands.commands == []
    assert approver.questions == []
    assert [m.text for m in history if isinstance(m, ToolResult)] == ["rm -r build!\n"]


@pytest.mark.contract("A provider may use an id again in a later reply.", read=WHOLE)
async def test_an_id_may_come_again(target: ModuleType) -> None:
    first, second = (call("shell", id="call_0", command=command) for command in ("ls", "pwd"))
    lines, conversation, _ = await recorded(target, says(first), says(second), says("done"))
    history, *_ = await replayed(target, lines)
    assert history == list(conversation.history), transcript(history)


@pytest.mark.contract("A conversation of several questions is replayed to its end.", read=LOOP)
async def test_several_questions(target: ModuleType) -> None:
    lines, conversation, requests = await recorded(
        target, says(LS), says("one"), says("two"), says(LS), says("3"), prompts=("a", "b", "c")
    )
    history, again, _, _ = await replayed(target, lines)
    assert history == list(conversation.history), transcript(history)
    assert unfolded(again) == unfolded(requests)


@pytest.mark.contract("A run that broke off is replayed up to where it broke off.", read=LOOP)
async def test_a_run_that_broke_off(target: ModuleType) -> None:
    def connection_lost(request: Request) -> AssistantMessage:
        raise ProviderError("The connection was lost.", kind="connection")

    lines, conversation, _ = await recorded(target, says(LS), says(LS), connection_lost)
    history, *_ = await replayed(target, lines)
    assert history == list(conversation.history), transcript(history)


@pytest.mark.contract(
    "A run that reached its turn limit is replayed with the same limit.", read=LOOP
)
async def test_a_run_that_reached_its_limit(target: ModuleType) -> None:
    replies = [says(LS), says(LS), says("not asked for")]
    lines, conversation, _ = await recorded(target, *replies, max_turns=2)
    history, *_ = await replayed(target, lines)
    assert history == list(conversation.history), transcript(history)


@pytest.mark.contract("A line that is no message is refused, with its number.", read=WHOLE)
@pytest.mark.parametrize(
    "line",
    [
        '{"kind": "user", "te',
        "",
        "[1, 2]",
        "null",
        '{"level": "info", "text": "started"}',
        '{"kind": "user", "text": 5}',
        '{"kind": "result", "call_id": "call_1", "name": "shell", "text": "x"}',
        '{"kind": "assistant", "content": [], "stop": "bored", "finish": "", "usage": null}',
    ],
    ids=lambda line: line[:30] or "(empty)",
)
async def test_a_foreign_line_is_named(target: ModuleType, line: str) -> None:
    lines, *_ = await recorded(target, says(LS), says("done"))
    with pytest.raises(target.RecordingError) as caught:
        target.read_recording([*lines[:2], line, *lines[2:]])
    assert caught.value.line == 3
    assert "line 3" in str(caught.value)


@pytest.mark.contract("A line in the wrong place is refused, with its number.", read=WHOLE)
async def test_a_history_that_is_not_whole_is_refused(target: ModuleType) -> None:
    user, asked, result, done = (await recorded(target, says(LS), says("done")))[0]
    for lines, number in (
        ([user, result], 2),
        ([user, asked, done], 3),
        ([user, asked, result, result], 4),
    ):
        with pytest.raises(target.RecordingError, match=rf"\bline {number}\b.*call_1"):
            target.read_recording(lines)


@pytest.mark.contract("A recording that ends before a result can be read and replayed.", read=WHOLE)
async def test_a_recording_may_end_anywhere(target: ModuleType) -> None:
    lines, *_ = await recorded(target, says(LS), says("done"))
    assert len(target.read_recording(lines[:2])) == 2
    history, *_ = await replayed(target, lines[:2])
    result = history[-1]
    assert isinstance(result, ToolResult), transcript(history)
    assert result.code, "a result that nobody has recorded must not look like a success"
