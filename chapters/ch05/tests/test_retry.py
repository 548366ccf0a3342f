"""What is asked for again, how often, after how long; and what stays as it was. No test waits."""

from __future__ import annotations

import asyncio
import ssl
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapters import ch05
from chapters.ch01.connection_errors import too_far, too_slow, unreachable
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.provider_errors import (
    error_inside,
    redirected,
    refused,
    too_large,
    unreadable,
)
from chapters.ch05.retry import USUAL, Patience, retrying
from chapters.ch05.stream_errors import incomplete, no_event, unreadable_event
from shared.errors import ConfigError, ProviderError, ReplyRefused
from shared.events import (
    Emit,
    Event,
    ReplyEnded,
    ReplyStarted,
    RetryScheduled,
    TextDelta,
    ToolCallDelta,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from shared.messages import AssistantMessage, Request, StopReason, UserMessage
from shared.plan import Kit
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeClock, FakeCommands, fake_kit

ENDPOINT = Endpoint("http://127.0.0.1:9/v1", "a-key-that-is-long", "a-model")
HELLO = says("Hello")
QUOTA = {"error": {"code": "insufficient_quota"}}


def failure(kind: str = "connection", **fields: Any) -> ProviderError:
    return ProviderError("it failed.", kind=kind, **{"retryable": True, **fields})


Said = AssistantMessage | BaseException | Callable[[Emit], AssistantMessage]


class Failing:
    """A model that replies or raises as it is told, and counts how often it was asked."""

    def __init__(self, *script: Said) -> None:
        self.script = script
        self.requests: list[Request] = []

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        said = self.script[len(self.requests)]
        self.requests.append(request)
        if isinstance(said, BaseException):
            raise said
        return said if isinstance(said, AssistantMessage) else said(emit)


class Asked:
    """One request through the layer: what came of it, what was told, how long it waited."""

    def __init__(self, *script: Said, patience: Patience = USUAL, chance: float = 1.0) -> None:
        self.model = Failing(*script)
        self.clock = FakeClock(chance)
        self.events: list[Event] = []
        self.layer = retrying(self.clock, patience)

    async def reply(self) -> AssistantMessage:
        wrapped = self.layer.wrap(self.model)
        return await wrapped.reply(Request((UserMessage("hi"),)), self.events.append)

    async def fail(self) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.reply()
        return caught.value


# What is asked for again


def inside(**body: Any) -> ProviderError:
    return error_inside(ENDPOINT, 200, body)


def certificate() -> BaseException:
    error = OSError("no connection")
    error.__cause__ = ssl.SSLCertVerificationError("unknown authority")
    return error


AGAIN: list[tuple[str, ProviderError]] = [
    ("the connection failed", unreachable(ENDPOINT, OSError("reset"))),
    ("no connection in time", too_far(ENDPOINT, 10)),
    ("no answer in time", too_slow(ENDPOINT, 300)),
    ("the stream broke off", incomplete(ENDPOINT, begun=True)),
    ("the stream was none", incomplete(ENDPOINT, begun=False)),
    ("an event cannot be read", unreadable_event(ENDPOINT, "it is not JSON")),
    ("a web page", unreadable(ENDPOINT, 200, b"<html>", "it is not JSON")),
    *((f"HTTP {status}", refused(ENDPOINT, status, {})) for status in (408, 409, 425, 429)),
    *((f"HTTP {status}", refused(ENDPOINT, status, {})) for status in (500, 502, 503, 504, 529)),
    ("overloaded, in a 200", inside(type="overloaded_error", message="Overloaded")),
    ("too many requests, in a 200", inside(code="rate_limit_exceeded")),
]

FINAL: list[tuple[str, ProviderError]] = [
    *((f"HTTP {status}", refused(ENDPOINT, status, {})) for status in (400, 401, 403, 404, 422)),
    ("HTTP 402, no credit", refused(ENDPOINT, 402, {})),
    ("HTTP 413, too large", refused(ENDPOINT, 413, {})),
    ("429 for a quota", refused(ENDPOINT, 429, QUOTA)),
    ("429 for a quota, over tomorrow", refused(ENDPOINT, 429, QUOTA, 86_400)),
    ("429 for a bill", refused(ENDPOINT, 429, {"error": {"type": "billing_error"}})),
    ("the context is full", refused(ENDPOINT, 400, {"code": "context_length_exceeded"})),
    ("a bad request, in a 200", inside(type="invalid_request_error")),
    ("a wrong key, in a 200", inside(code=401)),
    ("a quota, in a 200", inside(code="insufficient_quota")),
    ("sent on to another host", redirected(ENDPOINT, 307, "https://other.example/v1")),
    ("an answer without end", too_large(ENDPOINT, 200, 20_000_000)),
    ("a certificate that nobody trusts", unreachable(ENDPOINT, certificate())),
]


@pytest.mark.anyio
@pytest.mark.parametrize(("reason", "error"), AGAIN, ids=[reason for reason, _ in AGAIN])
async def test_what_may_pass_is_asked_for_again(reason: str, error: ProviderError) -> None:
    asked = Asked(error, HELLO)
    assert await asked.reply() is HELLO
    assert len(asked.model.requests) == 2


@pytest.mark.anyio
@pytest.mark.parametrize(("reason", "error"), FINAL, ids=[reason for reason, _ in FINAL])
async def test_what_will_not_pass_is_final(reason: str, error: ProviderError) -> None:
    message = str(error)
    asked = Asked(error)
    assert await asked.fail() is error
    assert str(error) == message
    assert (len(asked.model.requests), asked.clock.slept, asked.events) == (1, [], [])


@pytest.mark.anyio
@pytest.mark.parametrize(
    "error",
    [ConfigError("no key"), ReplyRefused("refusal", ""), ValueError("a bug"), KeyboardInterrupt()],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_of_another_kind_is_not_the_business_of_this_layer(
    error: BaseException,
) -> None:
    asked = Asked(error)
    with pytest.raises(type(error)) as caught:
        await asked.reply()
    assert caught.value is error
    assert asked.events == []


@pytest.mark.anyio
@pytest.mark.parametrize("stop", list(StopReason))
async def test_a_reply_is_a_reply_however_it_ended(stop: StopReason) -> None:
    """A refusal, for one: the same question would be refused again."""
    reply = says("no", stop=stop)
    asked = Asked(reply)
    assert await asked.reply() is reply
    assert asked.events == []


# How often


@pytest.mark.anyio
async def test_a_request_is_sent_three_times_at_most() -> None:
    errors = [failure(), failure("timeout"), failure("provider", status=503)]
    asked = Asked(*errors)
    assert await asked.fail() is errors[-1]
    assert str(errors[-1]) == "it failed. (The request was sent 3 times.)"
    assert [str(error) for error in errors[:-1]] == ["it failed.", "it failed."]


@pytest.mark.anyio
async def test_the_same_request_is_sent_every_time() -> None:
    asked = Asked(failure(), failure(), HELLO)
    await asked.reply()
    first, *others = asked.model.requests
    assert len(others) == 2
    assert all(other is first for other in others)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("kinds", "sent", "reason"),
    [
        (["bad_response", "bad_response"], 2, "the second page is the same as the first"),
        (["connection", "bad_response", "connection"], 3, "one page is none too many"),
        (["bad_response", "connection", "bad_response"], 3, "this is the second page"),
        (["timeout", "timeout", "timeout"], 3, "no page at all"),
    ],
)
async def test_an_answer_nobody_can_read_is_asked_for_twice_at_most(
    kinds: list[str], sent: int, reason: str
) -> None:
    asked = Asked(*[failure(kind) for kind in kinds], HELLO)
    assert (await asked.fail()).kind == kinds[-1]
    assert len(asked.model.requests) == sent


@pytest.mark.anyio
async def test_an_error_that_will_not_pass_ends_it_in_the_middle() -> None:
    asked = Asked(failure(), failure("provider", status=401, retryable=False), HELLO)
    assert str(await asked.fail()) == "it failed. (The request was sent 2 times.)"


@pytest.mark.anyio
async def test_the_count_begins_anew_with_each_request() -> None:
    asked = Asked(failure(), failure(), HELLO, failure(), failure(), HELLO)
    assert [await asked.reply(), await asked.reply()] == [HELLO, HELLO]


# How long


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("chance", "waits"),
    [
        (1.0, [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]),
        (0.0, [0.375, 0.75, 1.5, 3.0, 6.0, 6.0, 6.0]),
        (0.5, [0.4375, 0.875, 1.75, 3.5, 7.0, 7.0, 7.0]),
    ],
)
async def test_each_wait_is_twice_the_one_before_up_to_a_limit(
    chance: float, waits: list[float]
) -> None:
    asked = Asked(*[failure() for _ in waits], HELLO, patience=Patience(requests=99), chance=chance)
    await asked.reply()
    assert asked.clock.slept == waits


@pytest.mark.anyio
@pytest.mark.parametrize("asks", [0.02, 1.0, 7.5, 60.0])
async def test_a_provider_that_says_how_long_is_waited_for_exactly_so(asks: float) -> None:
    asked = Asked(failure("provider", status=429, retry_after=asks), HELLO)
    assert await asked.reply() is HELLO
    assert asked.clock.slept == [asks]


@pytest.mark.anyio
@pytest.mark.parametrize("asks", [None, 0.0])
async def test_a_provider_that_asks_for_no_wait_gets_one_all_the_same(asks: float | None) -> None:
    asked = Asked(failure("provider", status=429, retry_after=asks), HELLO)
    await asked.reply()
    assert asked.clock.slept == [0.5]


@pytest.mark.anyio
async def test_a_provider_that_wants_an_hour_is_not_waited_for_and_the_person_is_told() -> None:
    error = failure("provider", status=503, retry_after=3600.0)
    asked = Asked(error, HELLO)
    assert await asked.fail() is error
    assert str(error) == (
        "it failed. It wants to be left alone for 3600 seconds. That is longer than the 60 seconds "
        "this program waits, so it was not tried again."
    )
    assert asked.clock.slept == []


@pytest.mark.anyio
async def test_an_hour_that_the_message_names_is_named_once() -> None:
    error = refused(ENDPOINT, 429, {"error": {"message": "slow"}}, 3600.0)
    said = str(await Asked(error, HELLO).fail())
    assert said.endswith(
        "The provider says: slow. That is longer than the 60 seconds this program waits, so it was "
        "not tried again."
    )
    assert (said.count("3600"), said.count("seconds")) == (1, 2)


@pytest.mark.anyio
@pytest.mark.parametrize("wait", [None, 0.00001, 0.1, 30.0])
async def test_who_has_waited_in_vain_is_not_told_to_wait(wait: float | None) -> None:
    errors = [refused(ENDPOINT, 429, {"error": {"message": "slow"}}, wait) for _ in range(3)]
    said = str(await Asked(*errors).fail())
    assert "Wait " not in said
    assert "Waiting did not help: try again later." in said
    assert said.endswith("The provider says: slow. (The request was sent 3 times.)")


@pytest.mark.anyio
async def test_a_server_that_never_gives_a_reason_can_be_told_so() -> None:
    endpoint = Endpoint("http://127.0.0.1:9/v1", "a-key", "a-model", prefix="WORKBOOK_MINE_")
    said = str(await Asked(*[incomplete(endpoint, begun=True) for _ in range(3)]).fail())
    assert "If it happens every time, this server gives no reason" in said
    assert "WORKBOOK_MINE_FINISH_REQUIRED=false" in said


def test_a_stream_without_an_event_has_one_message_with_advice() -> None:
    ours, found = incomplete(ENDPOINT, begun=False), no_event(ENDPOINT, 200, b"<html>")
    for error in (ours, found):
        assert "it has no event in it. The server may be one that cannot stream" in str(error)
        assert "the agent of chapter 4" in str(error)
        assert "WORKBOOK_BASE_URL" in str(error)
        assert (error.kind, error.retryable) == ("bad_response", True)


@pytest.mark.anyio
async def test_just_above_the_limit_is_above_it() -> None:
    assert "left alone for 60.6 seconds" in str(
        await Asked(failure("provider", retry_after=60.6), HELLO).fail()
    )


def test_a_wait_that_grows_without_end_does_not_overflow() -> None:
    patient = Patience(requests=10_000)
    assert patient.wait(Counter(connection=5_000), failure(), 1.0) == 8.0


KINDS = ("connection", "timeout", "incomplete_stream", "bad_response", "provider")
ERRORS = st.builds(
    failure,
    st.sampled_from(KINDS),
    retryable=st.booleans(),
    retry_after=st.none() | st.floats(0, 200),
)


@given(errors=st.lists(ERRORS, max_size=6), chance=st.floats(0, 1))
def test_whatever_fails_waits_are_bounded_and_every_one_is_told(
    errors: Sequence[ProviderError], chance: float
) -> None:
    asked = Asked(*errors, HELLO, chance=chance)
    try:
        asyncio.run(asked.reply())
        ended: ProviderError | None = None
    except ProviderError as error:
        ended = error
    sent = len(asked.model.requests)
    told = [event for event in asked.events if isinstance(event, RetryScheduled)]
    assert 1 <= sent <= 3
    assert [event.seconds for event in told] == asked.clock.slept
    assert [event.attempt for event in told] == list(range(2, sent + 1))
    assert [event.error for event in told] == list(errors[: sent - 1])
    assert all(0 < seconds <= 60 for seconds in asked.clock.slept)
    assert all(error.retryable for error in errors[: sent - 1])
    assert ended is (errors[sent - 1] if sent <= len(errors) else None)


# What is told


def half(emit: Emit) -> AssistantMessage:
    """Half a reply, told as a streaming model tells it."""
    broke_off = incomplete(ENDPOINT, begun=True)
    emit(ReplyStarted())
    emit(TextDelta(0, "I will wri"))
    emit(ReplyEnded(None, broke_off))
    raise broke_off


def whole(emit: Emit) -> AssistantMessage:
    emit(ReplyStarted())
    emit(TextDelta(0, "Hello"))
    emit(ReplyEnded(HELLO, None))
    return HELLO


@pytest.mark.anyio
async def test_half_a_reply_is_thrown_away_and_the_whole_one_asked_for() -> None:
    asked = Asked(half, whole)
    assert await asked.reply() is HELLO
    names = [type(event).__name__ for event in asked.events]
    of_a_reply = ["ReplyStarted", "TextDelta", "ReplyEnded"]
    assert names == [*of_a_reply, "RetryScheduled", *of_a_reply]
    ended, retry = asked.events[2:4]
    assert isinstance(ended, ReplyEnded)
    assert isinstance(retry, RetryScheduled)
    assert ended.error is retry.error


@pytest.mark.anyio
async def test_a_wait_is_told_before_it_begins() -> None:
    told: list[float] = []

    class Watched(FakeClock):
        async def sleep(self, seconds: float) -> None:
            assert told == [*self.slept, seconds]
            await super().sleep(seconds)

    def listen(event: Event) -> None:
        assert isinstance(event, RetryScheduled)
        told.append(event.seconds)

    model = retrying(Watched()).wrap(Failing(failure(), failure(), HELLO))
    assert await model.reply(Request((UserMessage("hi"),)), listen) is HELLO
    assert len(told) == 2


# In an agent


class Endless(FakeClock):
    """A clock by which no wait ends."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.waiting.set()
        await asyncio.Event().wait()


@pytest.mark.anyio
async def test_a_wait_can_be_interrupted_and_nothing_is_lost() -> None:
    clock, commands = Endless(), FakeCommands()
    model = Failing(says(call("shell", id="a", command="ls")), failure(), says("Again."))
    kit = fake_kit(model, commands=commands, approver=FakeApprover(), clock=clock)
    conversation = ch05.plan(kit).build(kit)
    asking = asyncio.create_task(conversation.ask("look"))
    await clock.waiting.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    prompt, reply, result = conversation.history
    assert (prompt, result.call_id) == (UserMessage("look"), "a")  # type: ignore[union-attr]
    assert isinstance(reply, AssistantMessage)
    assert (await conversation.ask("go on")).text == "Again."
    assert commands.commands == ["ls"]


def rounds() -> tuple[Said, ...]:
    """Two rounds of calls and an answer; before each reply, one that breaks off."""
    return (
        half,
        says(call("shell", id="a", command="first")),
        half,
        failure(),
        says(call("shell", id="b", command="second"), call("shell", id="c", command="third")),
        half,
        says("Done."),
    )


async def run_agent(*script: Said) -> tuple[FakeCommands, list[Event], Kit, AssistantMessage]:
    events: list[Event] = []
    commands = FakeCommands()
    kit = fake_kit(Failing(*script), commands=commands, approver=FakeApprover())
    conversation = ch05.plan(kit).with_listeners(events.append).build(kit)
    return commands, events, kit, await conversation.ask("go")


@pytest.mark.anyio
async def test_a_tool_that_has_run_does_not_run_again_when_a_later_request_fails() -> None:
    commands, _, kit, reply = await run_agent(*rounds())
    assert reply.text == "Done."
    assert commands.commands == ["first", "second", "third"]
    assert isinstance(kit.clock, FakeClock)
    assert len(kit.clock.slept) == 4


@pytest.mark.anyio
async def test_when_a_request_is_sent_again_no_tool_of_that_turn_has_started() -> None:
    _, events, _, _ = await run_agent(*rounds())
    started: list[Event] = []
    retries = 0
    for event in events:
        match event:
            case TurnStarted():
                started.clear()
            case ToolStarted() | ToolFinished():
                started.append(event)
            case RetryScheduled():
                retries += 1
                assert started == []
    assert retries == 4


@pytest.mark.anyio
async def test_a_call_of_a_reply_that_broke_off_is_never_run_and_never_in_the_history() -> None:
    def half_a_call(emit: Emit) -> AssistantMessage:
        emit(ReplyStarted())
        emit(ToolCallDelta(0, '{"command": "rm -r /"}'))
        raise failure("incomplete_stream")

    commands = FakeCommands()
    kit = fake_kit(Failing(half_a_call, HELLO), commands=commands, approver=FakeApprover())
    conversation = ch05.plan(kit).build(kit)
    await conversation.ask("go")
    assert commands.commands == []
    assert list(conversation.history) == [UserMessage("go"), HELLO]


@pytest.mark.anyio
async def test_after_the_last_try_the_conversation_can_go_on() -> None:
    kit = fake_kit(Failing(failure(), failure(), failure(), HELLO))
    conversation = ch05.plan(kit).build(kit)
    with pytest.raises(ProviderError, match="sent 3 times"):
        await conversation.ask("go")
    assert await conversation.ask("go on") is HELLO
