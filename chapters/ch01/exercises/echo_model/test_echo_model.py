"""The promises of the echo model: it is a model like any other, and it always comes to an end."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from chapters import ch01
from chapters.ch01.exercises.transcript import transcript
from chapters.ch01.shell import SPEC
from shared.conversation import Conversation
from shared.errors import RunError
from shared.events import TurnStarted
from shared.messages import AssistantMessage, Message, Request, StopReason, ToolResult, UserMessage
from shared.ports import CommandOutcome, Model
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit

pytestmark = pytest.mark.anyio

LOOP = "chapters/ch01/README.md#the-loop-that-holds"
DATA = "chapters/ch01/README.md#failure-is-data"
ENDS = "chapters/ch01/README.md#when-it-ends"
PORTS = "chapters/ch01/README.md#ports-and-fakes"


def model_with_rules(target: ModuleType) -> Model:
    """The model that most of these tests talk to."""
    model: Model = target.EchoModel(
        [
            target.Say(r"my name is (\w+)", r"Hello, \1!"),
            target.Call(r"^run (?s:(.+))", "shell", {"command": r"\1"}),
            target.Call(r"mail (\w+)", "mail", {"to": r"\1"}),
        ]
    )
    return model


async def reply(target: ModuleType, *messages: Message) -> AssistantMessage:
    """What the model says to these messages, with the shell on offer."""
    request = Request(messages, (SPEC,))
    return await model_with_rules(target).reply(request, lambda _: None)


def agent(target: ModuleType, commands: FakeCommands) -> Conversation:
    """Chapter 1's agent with the model in it."""
    kit = fake_kit(model_with_rules(target), commands=commands, approver=FakeApprover("yes"))
    return ch01.plan(kit).build(kit)


async def ask(conversation: Conversation, prompt: str) -> AssistantMessage:
    """The answer. A model that never comes to one fails the test, which shows what was said."""
    try:
        return await conversation.ask(prompt, max_turns=4)
    except RunError as error:
        seen = transcript(list(conversation.history)[:5])
        pytest.fail(f"{type(error).__name__} after {prompt!r}; {seen}", pytrace=False)


@pytest.mark.contract("A rule with text answers with that text, groups filled in.", read=PORTS)
async def test_a_text_rule_answers(target: ModuleType) -> None:
    said = await reply(target, UserMessage("Hi, my name is Zoë."))
    assert said.text == "Hello, Zoë!"
    assert said.calls == ()
    assert said.stop is StopReason.END_TURN


@pytest.mark.contract("A rule with a tool asks for that tool, and says that it waits.", read=LOOP)
async def test_a_tool_rule_asks_for_the_tool(target: ModuleType) -> None:
    said = await reply(target, UserMessage("run ls src"))
    (asked,) = said.calls
    assert (asked.name, json.loads(asked.arguments)) == ("shell", {"command": "ls src"})
    assert asked.id, "a call needs an id, or its result has nothing to refer to"
    assert said.stop is StopReason.TOOL_USE


@pytest.mark.contract("The arguments are JSON, whatever the user has typed.", read=DATA)
@pytest.mark.parametrize(
    "typed",
    ['echo "hi"', r"printf 'a\nb'", "echo a\necho b", "ls Ümläute", r"echo \1 {0} %s", "a\tb"],
)
async def test_arguments_are_json(target: ModuleType, typed: str) -> None:
    said = await reply(target, UserMessage(f"run {typed}"))
    (asked,) = said.calls
    try:
        arguments = json.loads(asked.arguments)
    except ValueError:
        pytest.fail(f"these arguments are not JSON: {asked.arguments}", pytrace=False)
    assert arguments == {"command": typed}


@pytest.mark.contract("The first rule that fits wins.", read=PORTS)
async def test_the_first_rule_wins(target: ModuleType) -> None:
    model = target.EchoModel([target.Say("a", "one"), target.Say("b", "two"), target.Say("", "3")])
    request = Request((UserMessage("abc"),))
    assert (await model.reply(request, lambda _: None)).text == "one"


@pytest.mark.contract("Where no rule fits, the answer says so and names the patterns.", read=ENDS)
async def test_no_rule_fits(target: ModuleType) -> None:
    said = await reply(target, UserMessage("make me a sandwich"))
    assert said.calls == ()
    assert "make me a sandwich" in said.text, said.text
    assert r"my name is (\w+)" in said.text, said.text
    nothing_known = target.EchoModel([])
    said = await nothing_known.reply(Request((UserMessage("hi"),)), lambda _: None)
    assert "hi" in said.text, "a model without rules has to say something, too"


@pytest.mark.contract("In the loop it asks, gets its result, and answers with it.", read=LOOP)
async def test_a_whole_run(target: ModuleType) -> None:
    commands = FakeCommands(CommandOutcome("loop.py\n", 0))
    conversation = agent(target, commands)
    answer = await ask(conversation, "run ls src")
    assert commands.commands == ["ls src"]
    assert "loop.py" in answer.text, transcript(conversation.history)


@pytest.mark.contract("It never loops on its own results, even if they fit a rule.", read=ENDS)
@pytest.mark.parametrize(
    "outcome",
    [
        CommandOutcome("run ls", 0),
        CommandOutcome("my name is Ada", 0),
        CommandOutcome("run ls", 1),
    ],
)
async def test_it_does_not_answer_itself(target: ModuleType, outcome: CommandOutcome) -> None:
    commands = FakeCommands(outcome)
    conversation = agent(target, commands)
    answer = await ask(conversation, "run ls")
    assert commands.commands == ["ls"], transcript(conversation.history)
    assert outcome.output in answer.text, transcript(conversation.history)


@pytest.mark.contract("A failure is told as a failure.", read=DATA)
async def test_a_failure_is_told_as_one(target: ModuleType) -> None:
    asked = says(call("shell", id="a", command="ls"))
    good = await reply(target, UserMessage("run ls"), asked, ToolResult("a", "shell", "no"))
    bad = await reply(target, UserMessage("run ls"), asked, ToolResult("a", "shell", "no", "x"))
    assert "shell" in good.text
    assert "fail" not in good.text
    assert "shell" in bad.text
    assert "fail" in bad.text


@pytest.mark.contract("Every result of the last reply is told, and no older one.", read=LOOP)
async def test_all_new_results_are_told(target: ModuleType) -> None:
    """The history may come from another model, which asked for two things at once."""
    said = await reply(
        target,
        UserMessage("run ls"),
        says(call("shell", id="a", command="ls")),
        ToolResult("a", "shell", "old"),
        says(call("shell", id="b", command="ls"), call("shell", id="c", command="ls")),
        ToolResult("b", "shell", "first"),
        ToolResult("c", "shell", "second"),
    )
    assert said.calls == ()
    assert "old" not in said.text, said.text
    assert 0 <= said.text.find("first") < said.text.find("second"), said.text


@pytest.mark.contract("The next question gets an answer of its own.", read=LOOP)
async def test_the_next_question_is_a_new_one(target: ModuleType) -> None:
    commands = FakeCommands()
    conversation = agent(target, commands)
    await ask(conversation, "run ls")
    assert (await ask(conversation, "my name is Ada")).text == "Hello, Ada!"
    await ask(conversation, "run pwd")
    assert commands.commands == ["ls", "pwd"], transcript(conversation.history)


@pytest.mark.contract("A tool that is not on offer is not asked for.", read=PORTS)
async def test_only_tools_on_offer(target: ModuleType) -> None:
    said = await reply(target, UserMessage("mail Ada"))
    assert said.calls == (), "the request offers the shell and nothing else"
    assert "mail" in said.text


@pytest.mark.contract("The same request gets the same reply; each call its own id.", read=PORTS)
async def test_it_has_no_memory(target: ModuleType) -> None:
    model = model_with_rules(target)
    kit = fake_kit(model, commands=FakeCommands(), approver=FakeApprover("yes"))
    requests: list[Request] = []

    def listen(event: object) -> None:
        if isinstance(event, TurnStarted):
            requests.append(event.request)

    conversation = ch01.plan(kit).with_listeners(listen).build(kit)
    for _ in range(3):
        await ask(conversation, "run ls")
    said = [message for message in conversation.history if isinstance(message, AssistantMessage)]
    again = [await model.reply(request, lambda _: None) for request in requests]
    assert again == said, transcript(again)
    ids = [asked.id for message in said for asked in message.calls]
    assert len(set(ids)) == 3, f"the ids are {ids}"
