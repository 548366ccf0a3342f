"""The promises of three strikes: what counts as the same, what resets, and how a run is left."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

import pytest

from chapters.ch01.exercises.transcript import transcript
from shared.events import RunEnded
from shared.history import History
from shared.messages import AssistantMessage, StopReason, ToolCall, ToolResult
from shared.ports import CommandOutcome
from shared.scripted import Reply, ScriptedModel, call, says
from shared.testing import FakeApprover, FakeCommands, Recording, fake_kit, run_script

pytestmark = pytest.mark.anyio

ENDS = "chapters/ch01/README.md#when-it-ends"
WHOLE = "chapters/ch01/README.md#a-history-that-cannot-break"
DATA = "chapters/ch01/README.md#failure-is-data"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"

MAKE = says(call("shell", command="make"))
TEST = says(call("shell", command="make test"))
FINE = says(call("shell", command="true"))


def fails_unless_true(command: str) -> CommandOutcome:
    """Every command fails, except `true`."""
    return CommandOutcome("", 0 if command == "true" else 2)


async def run(
    target: ModuleType, *replies: Reply, approver: FakeApprover | None = None
) -> Recording:
    """The agent under test against a script; after `replies` the model says that it is done."""
    return await run_script(
        target.plan,
        [*replies, says("done")],
        commands=FakeCommands(fails_unless_true),
        approver=approver or FakeApprover("yes"),
    )


def raw(name: str, arguments: str) -> AssistantMessage:
    """A reply with one call, its arguments spelled exactly so."""
    return says(ToolCall("", name, arguments))


@pytest.mark.contract("The third failure of the same call ends the run.", read=ENDS)
async def test_the_third_failure_ends_the_run(target: ModuleType) -> None:
    recording = await run(target, MAKE, MAKE, MAKE)
    seen = transcript(recording.messages)
    assert isinstance(recording.error, target.SameCallFailed), seen
    assert len(recording.model.requests) == 3, "the model must not be asked a fourth time"
    assert recording.error.call.name == "shell"
    assert recording.error.result == recording.results[-1], seen


@pytest.mark.contract("Two failures do not end the run.", read=DATA)
async def test_two_failures_do_not(target: ModuleType) -> None:
    recording = await run(target, MAKE, MAKE)
    assert recording.error is None, transcript(recording.messages)


@pytest.mark.contract("A stopped run leaves a whole history, and listeners hear why.", read=WHOLE)
async def test_the_history_is_whole(target: ModuleType) -> None:
    recording = await run(target, MAKE, MAKE, MAKE)
    seen = transcript(recording.messages)
    assert [result.code for result in recording.results] == ["shell_failed"] * 3, seen
    assert list(whole(recording.messages)) == recording.messages
    end = recording.events[-1]
    assert isinstance(end, RunEnded)
    assert isinstance(end.error, target.SameCallFailed), f"the run ended with {end.error!r}"


def whole(messages: Iterable[object]) -> History:
    """A history of these messages. Raises PairingError if a call or a result is missing."""
    history = History()
    for message in messages:
        history.append(message)  # type: ignore[arg-type]
    history.check_answered()
    return history


@pytest.mark.contract("A success in between resets the count.", read=ENDS)
async def test_a_success_resets_the_count(target: ModuleType) -> None:
    recording = await run(target, MAKE, MAKE, FINE, MAKE, MAKE)
    assert recording.error is None, transcript(recording.messages[3:])


@pytest.mark.contract("Another call in between resets the count, even if it fails.", read=ENDS)
async def test_another_call_resets_the_count(target: ModuleType) -> None:
    recording = await run(target, MAKE, MAKE, TEST, MAKE, MAKE)
    assert recording.error is None, transcript(recording.messages[3:])


@pytest.mark.contract("Calls of one reply count as if each had come alone.", read=ENDS)
async def test_three_calls_of_one_reply_count(target: ModuleType) -> None:
    one = call("shell", command="make")
    recording = await run(target, says(one, one, one))
    assert isinstance(recording.error, target.SameCallFailed), transcript(recording.messages)
    recording = await run(target, says(one, one), says(call("shell", command="true"), one, one))
    assert recording.error is None, transcript(recording.messages[3:])


@pytest.mark.contract("A failure counts wherever it happened, before a tool as well.", read=DATA)
@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (raw("sheel", '{"command": "ls"}'), "unknown_tool"),
        (raw("shell", '{"command": "ls"'), "invalid_json"),
        (raw("shell", '{"cmd": "ls"}'), "invalid_arguments"),
        (says(call("shell", command="ls"), stop=StopReason.MAX_TOKENS), "reply_cut_off"),
        (says(call("shell", command="ls")), "permission_denied"),
    ],
)
async def test_every_failure_counts(target: ModuleType, reply: AssistantMessage, code: str) -> None:
    recording = await run(target, reply, reply, reply, approver=FakeApprover("no"))
    seen = transcript(recording.messages)
    assert [result.code for result in recording.results][:3] == [code] * 3, seen
    assert isinstance(recording.error, target.SameCallFailed), seen


@pytest.mark.contract("Arguments are compared as JSON objects, not as text.", read=PLACES)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"command": "make", "n": 1}', '{"n": 1, "command": "make"}'),
        ('{"command": "make"}', ' {\n"command":"make" }'),
        ('{"command": "é"}', r'{"command": "\u00e9"}'),
        ('{"a": {"x": 1, "y": []}}', '{"a": {"y": [], "x": 1}}'),
        ("{}", ""),
    ],
)
async def test_other_spellings_are_the_same_call(target: ModuleType, one: str, other: str) -> None:
    recording = await run(target, raw("shell", one), raw("shell", other), raw("shell", one))
    assert isinstance(recording.error, target.SameCallFailed), transcript(recording.messages)


@pytest.mark.contract("Different JSON objects are different calls.", read=PLACES)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("shell", '{"command": 1}'), ("shell", '{"command": "1"}')),
        (("shell", '{"command": 1}'), ("shell", '{"command": true}')),
        (("shell", '{"x": [1, 2]}'), ("shell", '{"x": [2, 1]}')),
        (("shell", '{"x": null}'), ("shell", "{}")),
        (("shell", '{"x": "a  b"}'), ("shell", '{"x": "a b"}')),
        (("shell", '{"x": '), ("shell", '{"x": [')),
        (("shell", "[1]"), ("shell", "[ 1 ]")),
        (("ls", "{}"), ("cat", "{}")),
    ],
)
async def test_other_values_are_other_calls(
    target: ModuleType, one: tuple[str, str], other: tuple[str, str]
) -> None:
    recording = await run(target, raw(*one), raw(*other), raw(*one))
    assert recording.error is None, transcript(recording.messages)


@pytest.mark.contract("Two calls with the same name and arguments share a fingerprint.", read=DATA)
@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"command": "make", "n": 1}', '{ "n":1, "command":"make" }', True),
        ('{"command": "make"}', '{"command": "make test"}', False),
        ('{"command": 1}', '{"command": true}', False),
        ('{"command": "make"', '{"command": "make"', True),
    ],
)
def test_a_fingerprint_alone(target: ModuleType, one: str, other: str, same: bool) -> None:
    first = target.fingerprint(ToolCall("call_1", "shell", one))
    second = target.fingerprint(ToolCall("call_2", "shell", other))
    assert (first == second) is same, f"{first!r} and {second!r}"


@pytest.mark.contract("Tool name and arguments do not run into each other.", read=DATA)
def test_name_and_arguments_are_kept_apart(target: ModuleType) -> None:
    one, other = ToolCall("", "ab", "c"), ToolCall("", "a", "bc")
    assert target.fingerprint(one) != target.fingerprint(other)


@pytest.mark.contract("The next question after a stop is answered, with a new count.", read=WHOLE)
async def test_the_conversation_goes_on(target: ModuleType) -> None:
    model = ScriptedModel([MAKE, MAKE, MAKE, MAKE, MAKE, says("done")])
    kit = fake_kit(model, commands=FakeCommands(fails_unless_true), approver=FakeApprover("yes"))
    conversation = target.plan(kit).build(kit)
    with pytest.raises(target.SameCallFailed):
        await conversation.ask("build it")
    try:
        reply = await conversation.ask("try once more")
    except target.SameCallFailed:
        pytest.fail(f"stopped again; {transcript(conversation.history[-3:])}", pytrace=False)
    assert reply.text == "done"


@pytest.mark.contract("Two conversations do not count each other's failures.", read=PLACES)
async def test_conversations_are_counted_apart(target: ModuleType) -> None:
    model = ScriptedModel([MAKE, MAKE, says("done")] * 2)
    kit = fake_kit(model, commands=FakeCommands(fails_unless_true), approver=FakeApprover("yes"))
    plan = target.plan(kit)
    for _ in range(2):
        conversation = plan.build(kit)
        assert (await conversation.ask("build it")).text == "done"
        codes = [m.code for m in conversation.history if isinstance(m, ToolResult)]
        assert codes == ["shell_failed"] * 2
