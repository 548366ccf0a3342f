"""The loop: when it goes on, when it ends, and what it refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from chapters import ch01
from chapters.ch01.loop import run
from shared.errors import (
    EmptyReply,
    PairingError,
    ProviderError,
    ReplyCutOff,
    ReplyIncomplete,
    ReplyRefused,
    TurnLimitReached,
)
from shared.events import Emit, Event, MessageAdded, RunEnded
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.scripted import ScriptedModel, call, last_result, says
from shared.sources import Inbox
from shared.testing import FakeApprover, FakeCommands, Recording, fake_kit, run_script

pytestmark = pytest.mark.anyio

LS = call("shell", command="ls")


class EchoTools:
    """A dispatcher without tools: it answers each call with its own arguments, and counts."""

    specs: tuple[ToolSpec, ...] = ()

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        for each in calls:
            self.ran.append(each.id)
            answer(ToolResult(each.id, each.name, each.arguments))


async def loop(
    *replies: AssistantMessage, tools: EchoTools | None = None, max_turns: int = 20
) -> tuple[History, EchoTools, ScriptedModel, Exception | None]:
    """Run the bare loop against a script; what it raised is returned, not raised."""
    model, history, inbox = ScriptedModel(replies), History(), Inbox()
    tools = tools or EchoTools()
    inbox.put(UserMessage("go"))
    error: Exception | None = None
    try:
        await run(model, tools, history, arrivals=inbox, emit=lambda _: None, max_turns=max_turns)
    except Exception as caught:
        error = caught
    return history, tools, model, error


# The four combinations of text and calls.


async def test_text_without_calls_ends_the_run() -> None:
    history, tools, model, error = await loop(says("hello"))
    assert error is None
    assert len(model.requests) == 1
    assert tools.ran == []
    assert [type(message) for message in history] == [UserMessage, AssistantMessage]


async def test_calls_without_text_are_run_and_the_model_is_asked_again() -> None:
    _history, tools, model, error = await loop(says(LS), says("done"))
    assert error is None
    assert tools.ran == ["call_1"]
    assert len(model.requests) == 2
    assert isinstance(model.requests[1].messages[-1], ToolResult)


async def test_text_with_calls_is_not_the_end() -> None:
    history, tools, _model, error = await loop(says("I will look.", LS), says("done"))
    assert error is None
    assert tools.ran == ["call_1"]
    assert history[-1] == says("done")


async def test_neither_text_nor_calls_is_an_error() -> None:
    _history, _, _, error = await loop(says())
    assert isinstance(error, EmptyReply)


async def test_blank_text_counts_as_no_text() -> None:
    _, _, _, error = await loop(says(" \n"))
    assert isinstance(error, EmptyReply)


# The finish-reason table.


@pytest.mark.parametrize("stop", [StopReason.END_TURN, StopReason.TOOL_USE])
async def test_calls_decide_whatever_the_finish_reason_says(stop: StopReason) -> None:
    _, tools, _, error = await loop(says(LS, stop=stop), says("done", stop=stop))
    assert error is None
    assert tools.ran == ["call_1"]


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (StopReason.REFUSAL, ReplyRefused),
        (StopReason.CONTENT_FILTER, ReplyRefused),
        (StopReason.MISSING, ReplyIncomplete),
        (StopReason.UNKNOWN, ReplyIncomplete),
        (StopReason.MAX_TOKENS, ReplyCutOff),
    ],
)
async def test_a_reply_that_did_not_finish_is_no_answer(
    stop: StopReason, expected: type[Exception]
) -> None:
    _, _, model, error = await loop(says("half an ans", stop=stop))
    assert isinstance(error, expected)
    assert len(model.requests) == 1


async def test_a_cut_off_reply_carries_its_partial_text() -> None:
    _, _, _, error = await loop(says("half an ans", stop=StopReason.MAX_TOKENS))
    assert isinstance(error, ReplyCutOff)
    assert error.text == "half an ans"


@pytest.mark.parametrize(
    "stop",
    [StopReason.REFUSAL, StopReason.CONTENT_FILTER, StopReason.MISSING, StopReason.UNKNOWN],
)
async def test_no_call_of_an_unfinished_reply_runs_and_each_is_answered(stop: StopReason) -> None:
    history, tools, _, error = await loop(says(LS, LS, stop=stop))
    assert error is not None
    assert tools.ran == []
    results = [message for message in history if isinstance(message, ToolResult)]
    assert [(result.call_id, result.code) for result in results] == [
        ("call_1", "reply_not_finished"),
        ("call_2", "reply_not_finished"),
    ]


async def test_a_cut_off_reply_with_calls_runs_none_and_asks_again() -> None:
    history, tools, model, error = await loop(
        says("x", LS, LS, stop=StopReason.MAX_TOKENS), says("done")
    )
    assert error is None
    assert tools.ran == []
    assert len(model.requests) == 2
    results = [message for message in history if isinstance(message, ToolResult)]
    assert [result.code for result in results] == ["reply_cut_off", "reply_cut_off"]


# The turn limit.


async def test_the_turn_limit_ends_the_run() -> None:
    history, tools, model, error = await loop(*[says(LS)] * 5, max_turns=3)
    assert isinstance(error, TurnLimitReached)
    assert len(model.requests) == 3
    assert len(tools.ran) == 3
    history.check_answered()


async def test_an_answer_in_the_last_turn_is_an_answer() -> None:
    _, _, _, error = await loop(says(LS), says("done"), max_turns=2)
    assert error is None


async def test_the_default_limit_is_twenty_requests() -> None:
    recording = await run_script(ch01.plan, [says(LS)] * 30, approver=FakeApprover("yes"))
    assert isinstance(recording.error, TurnLimitReached)
    assert len(recording.model.requests) == 20


# The history stays whole.


async def test_two_calls_with_one_id_are_refused_naming_it() -> None:
    twice = says(call("shell", id="same"), call("shell", id="same"))
    history, tools, _, error = await loop(twice)
    assert isinstance(error, PairingError)
    assert "'same'" in str(error)
    assert tools.ran == []
    assert list(history) == [UserMessage("go")]


class ForgetfulTools(EchoTools):
    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        answer(ToolResult(calls[0].id, calls[0].name, "ok"))


class OrphanTools(EchoTools):
    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        answer(ToolResult("stranger", "shell", "ok"))


class RepeatingTools(EchoTools):
    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        for _ in range(2):
            answer(ToolResult(calls[0].id, calls[0].name, "ok"))


@pytest.mark.parametrize(
    ("tools", "named"),
    [(ForgetfulTools(), "call_2"), (OrphanTools(), "stranger"), (RepeatingTools(), "call_1")],
)
async def test_missing_orphan_and_repeated_results_end_the_run_before_the_next_request(
    tools: EchoTools, named: str
) -> None:
    history, _, model, error = await loop(says(LS, LS), says("done"), tools=tools)
    assert isinstance(error, PairingError)
    assert named in str(error)
    assert len(model.requests) == 1
    history.check_answered()


async def test_cancelling_a_tool_leaves_every_call_answered() -> None:
    started = asyncio.Event()

    class SlowTools(EchoTools):
        async def run(
            self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
        ) -> None:
            answer(ToolResult(calls[0].id, calls[0].name, "finished in time"))
            started.set()
            await asyncio.Event().wait()

    history, inbox = History(), Inbox()
    inbox.put(UserMessage("go"))
    model = ScriptedModel([says(LS, LS)])
    task = asyncio.create_task(
        run(model, SlowTools(), history, arrivals=inbox, emit=lambda _: None, max_turns=5)
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    results = [message for message in history if isinstance(message, ToolResult)]
    assert [(result.call_id, result.code) for result in results] == [
        ("call_1", None),
        ("call_2", "interrupted"),
    ]


async def test_a_model_that_fails_leaves_a_history_that_can_go_on() -> None:
    def fail(request: Request) -> AssistantMessage:
        raise ProviderError("down", kind="connection")

    model = ScriptedModel([fail, says("here again")])
    kit = fake_kit(model)
    conversation = ch01.plan(kit).build(kit)
    with pytest.raises(ProviderError):
        await conversation.ask("first")
    assert (await conversation.ask("second")).text == "here again"


async def test_there_must_be_something_to_reply_to() -> None:
    model = ScriptedModel([says("hello")])
    with pytest.raises(PairingError, match="nothing for the model to reply to"):
        await run(
            model,
            EchoTools(),
            History(),
            arrivals=Inbox(),
            emit=lambda _: None,
            max_turns=1,
        )
    assert model.requests == []


# What arrives, and what is told.


async def test_a_message_that_arrives_during_a_turn_is_in_the_next_request() -> None:
    inbox = Inbox()

    class SteeringTools(EchoTools):
        async def run(
            self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
        ) -> None:
            await super().run(calls, answer, emit)
            inbox.put(UserMessage("rather look elsewhere"))

    inbox.put(UserMessage("go"))
    model = ScriptedModel([says(LS), says("done")])
    await run(model, SteeringTools(), History(), arrivals=inbox, emit=lambda _: None, max_turns=5)
    assert model.requests[1].messages[-1] == UserMessage("rather look elsewhere")


async def test_an_answer_does_not_end_the_run_while_a_message_waits() -> None:
    inbox = Inbox()
    inbox.put(UserMessage("go"))

    def answer_and_receive(request: Request) -> AssistantMessage:
        inbox.put(UserMessage("one more thing"))
        return says("first answer")

    model = ScriptedModel([answer_and_receive, says("second answer")])
    reply = await run(
        model, EchoTools(), History(), arrivals=inbox, emit=lambda _: None, max_turns=5
    )
    assert reply.text == "second answer"


async def test_the_events_tell_the_history_in_order_and_end_once() -> None:
    recording = await run_script(ch01.plan, [says(LS), says("done")], approver=FakeApprover("yes"))
    added = [event.message for event in recording.events if isinstance(event, MessageAdded)]
    assert added == recording.messages
    assert [type(event).__name__ for event in recording.events] == [
        "RunStarted",
        "MessageAdded",  # the prompt
        "TurnStarted",
        "MessageAdded",  # the reply with its call
        "ToolStarted",
        "ToolFinished",
        "MessageAdded",  # the result
        "TurnEnded",
        "TurnStarted",
        "MessageAdded",  # the answer
        "TurnEnded",
        "RunEnded",
    ]


async def test_a_run_that_fails_says_so_in_its_last_event() -> None:
    recording = await run_script(ch01.plan, [says()])
    last = recording.events[-1]
    assert isinstance(last, RunEnded)
    assert last.error is recording.error


async def test_a_listener_that_raises_does_not_stop_the_run(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(event: Event) -> None:
        raise RuntimeError("screen is gone")

    recording = await run_script(lambda kit: ch01.plan(kit).with_listeners(broken), [says("done")])
    assert recording.error is None
    assert len([record for record in caplog.records if "was dropped" in record.message]) == 1


async def test_a_request_keeps_what_was_sent_although_the_history_grows() -> None:
    recording = await run_script(ch01.plan, [says(LS), says("done")], approver=FakeApprover("yes"))
    assert list(recording.model.requests[0].messages) == [UserMessage("go")]
    assert len(recording.model.requests[1].messages) == 3


async def test_the_whole_run_of_chapter_one() -> None:
    commands = FakeCommands()
    recording: Recording = await run_script(
        ch01.plan,
        [
            says("I will list the files.", call("shell", command="ls -a")),
            lambda request: says(f"The command said: {last_result(request).text}"),
        ],
        commands=commands,
        approver=FakeApprover("y"),
    )
    assert commands.commands == ["ls -a"]
    assert recording.reply == AssistantMessage((Text("The command said: ok\n"),))
    assert [type(message).__name__ for message in recording.messages] == [
        "UserMessage",
        "AssistantMessage",
        "ToolResult",
        "AssistantMessage",
    ]
