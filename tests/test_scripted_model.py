"""The offline model is strict: it notices when a conversation does not go as written."""

from __future__ import annotations

import pytest

from chapters import ch01
from shared.errors import PairingError
from shared.messages import AssistantMessage, Request, ToolResult, UserMessage
from shared.scripted import ScriptedModel, ScriptError, call, last_prompt, last_result, says
from shared.testing import fake_kit, run_script

pytestmark = pytest.mark.anyio

HELLO = Request((UserMessage("hello"),))


async def test_it_fails_when_the_script_runs_out() -> None:
    model = ScriptedModel([says("one")])
    await model.reply(HELLO, lambda _: None)
    with pytest.raises(ScriptError, match="request 2 came, but the script has 1"):
        await model.reply(HELLO, lambda _: None)


async def test_it_fails_when_replies_are_left_over() -> None:
    with pytest.raises(ScriptError, match="1 replies of the script"):
        with ScriptedModel([says("one"), says("two")]) as model:
            await model.reply(HELLO, lambda _: None)


async def test_an_error_inside_is_not_hidden_by_replies_left_over() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedModel([says("one")]):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "messages",
    [
        (UserMessage("a"), says(call("shell", id="x"))),
        (UserMessage("a"), ToolResult("x", "shell", "ok")),
        (UserMessage("a"), says("b")),
        (),
    ],
)
async def test_it_refuses_a_request_whose_history_is_broken(
    messages: tuple[UserMessage | AssistantMessage | ToolResult, ...],
) -> None:
    model = ScriptedModel([says("one")])
    with pytest.raises(PairingError):
        await model.reply(Request(messages), lambda _: None)
    assert model.requests == []


async def test_a_function_in_the_script_sees_the_request() -> None:
    model = ScriptedModel([lambda request: says(f"you said {last_prompt(request).text}")])
    assert (await model.reply(HELLO, lambda _: None)).text == "you said hello"


async def test_last_result_says_when_there_is_none() -> None:
    with pytest.raises(ScriptError, match="no tool result"):
        last_result(HELLO)


async def test_it_records_every_request() -> None:
    recording = await run_script(ch01.plan, [says(call("shell", command="ls")), says("done")])
    assert [len(request.messages) for request in recording.model.requests] == [1, 3]
    assert [request.tools[0].name for request in recording.model.requests] == ["shell", "shell"]


async def test_an_agent_that_goes_on_too_long_is_noticed() -> None:
    kit = fake_kit(ScriptedModel([says(call("shell", command="ls"))]))
    with pytest.raises(ScriptError):
        await ch01.plan(kit).build(kit).ask("go")
