"""The loop: ask the model, run what it asks for, tell it what came of that, ask again."""

from __future__ import annotations

from collections.abc import Callable

from shared.errors import (
    EmptyReply,
    ReplyCutOff,
    ReplyIncomplete,
    ReplyRefused,
    TurnLimitReached,
)
from shared.events import Emit, MessageAdded, RunEnded, RunStarted, TurnEnded, TurnStarted
from shared.history import History
from shared.messages import (
    FINISHED,
    AssistantMessage,
    Message,
    Request,
    StopReason,
    ToolResult,
)
from shared.ports import Dispatcher, Model, Source


async def run(
    model: Model,
    tools: Dispatcher,
    history: History,
    *,
    arrivals: Source,
    emit: Emit,
    max_turns: int,
) -> AssistantMessage:
    """Ask the model until a reply asks for nothing, and return that reply.

    `history` grows in place. Whether this returns, raises or is cancelled, every call in it has
    exactly one result. Raises RunError for a run that ends without an answer.
    """

    def add(message: Message) -> None:
        history.append(message)
        emit(MessageAdded(message))

    emit(RunStarted(max_turns))
    # region: run
    try:
        reply = await take_turns(model, tools, history, arrivals, add, emit, max_turns)
    except BaseException as error:
        for result in history.answer_open_calls("interrupted", "The run was stopped here."):
            emit(MessageAdded(result))
        emit(RunEnded(None, error))
        raise
    emit(RunEnded(reply, None))
    return reply
    # endregion: run


async def take_turns(
    model: Model,
    tools: Dispatcher,
    history: History,
    arrivals: Source,
    add: Callable[[Message], None],
    emit: Emit,
    max_turns: int,
) -> AssistantMessage:
    """The loop itself. `add` puts a message at the end of the history and tells the listeners."""
    # region: turns
    for turn in range(1, max_turns + 1):
        for message in arrivals.take():
            add(message)
        history.check_ready()
        request = Request(history.view(), tools.specs)
        emit(TurnStarted(turn, request))

        reply = await model.reply(request, emit)
        add(reply)

        calls = reply.calls
        if calls and reply.stop in FINISHED:
            await tools.run(calls, add, emit)
            history.check_answered()
        else:
            for result in refuse_calls(reply):
                add(result)
            check_outcome(reply)
        emit(TurnEnded(turn, reply))

        if not calls and not arrivals.waiting():
            return reply
    raise TurnLimitReached(max_turns)
    # endregion: turns


# region: outcome


def refuse_calls(reply: AssistantMessage) -> list[ToolResult]:
    """Nothing runs from a reply that did not finish: each of its calls is told so."""
    if reply.stop is StopReason.MAX_TOKENS:
        code = "reply_cut_off"
        message = (
            "Not run: the reply hit the output limit, so these arguments may be incomplete. "
            "Send the call again, with less in it or in several steps."
        )
    else:
        code = "reply_not_finished"
        message = f"Not run: the reply ended as {reply.finish or reply.stop.value!r}."
    return [ToolResult.failure(call, code, message) for call in reply.calls]


def check_outcome(reply: AssistantMessage) -> None:
    """Return if the reply is an answer, or was cut off with calls; raise what it is otherwise."""
    if reply.stop in (StopReason.REFUSAL, StopReason.CONTENT_FILTER):
        raise ReplyRefused(reply.finish or reply.stop.value, reply.text)
    if reply.stop in (StopReason.MISSING, StopReason.UNKNOWN):
        raise ReplyIncomplete(reply.finish, reply.text)
    if reply.stop is StopReason.MAX_TOKENS:
        if reply.calls:
            return
        raise ReplyCutOff(reply.text)
    if not reply.text.strip():
        raise EmptyReply()


# endregion: outcome
