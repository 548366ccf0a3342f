"""One round trip by hand: ask, find the calls, run them, tell the model, ask again. No loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chapters.ch01.dispatch import settle
from chapters.ch01.loop import check_outcome, refuse_calls
from chapters.ch02.registry import Registry
from shared.events import Event
from shared.history import History
from shared.messages import (
    FINISHED,
    AssistantMessage,
    Message,
    Request,
    ToolCall,
    ToolResult,
    UserMessage,
)
from shared.ports import Model
from shared.tools import Returned, Tool, call_handler


# region: outcome
@dataclass(frozen=True, slots=True)
class OneRound:
    """What was said: a question, a reply, its results, a last reply. Two messages if the first
    reply asked for nothing."""

    messages: tuple[Message, ...]
    reply: AssistantMessage

    @property
    def asks_again(self) -> bool:
        """True if the last reply is no answer: it holds calls that nobody has run."""
        return bool(self.reply.calls)


# endregion: outcome


# region: round
async def answer_with_one_tool_round(
    model: Model, tools: Sequence[Tool], question: str
) -> OneRound:
    """Ask, run what the model asks for, ask again, stop.

    Nothing runs after the second reply, whatever it asks for: look at `asks_again`. Failures of
    tools are results. Raises RunError for a reply that is neither an answer nor a request.
    """
    offered = define(tools)
    history = History([UserMessage(question)])

    reply = await ask(model, offered, history)
    history.append(reply)
    if reply.calls:
        for result in await results_of(offered, reply):
            history.append(result)
        reply = await ask(model, offered, history)
        history.append(reply)
    return OneRound(tuple(history), reply)


# endregion: round


# region: steps
def define(tools: Sequence[Tool]) -> Registry:
    """The tools on offer, ready to be called: their definitions are the `specs`."""
    return Registry(tools, call_handler)


async def ask(model: Model, offered: Registry, history: History) -> AssistantMessage:
    """One reply to all that was said. Raises RunError if there is nothing to make of it."""
    history.check_ready()
    reply = await model.reply(Request(history.view(), offered.specs), nobody_listens)
    if not (reply.calls and reply.stop in FINISHED):
        check_outcome(reply)
    return reply


def calls_to_run(reply: AssistantMessage) -> tuple[ToolCall, ...]:
    """The calls of a reply. None of one that was cut off: its arguments may be half of them."""
    return reply.calls if reply.stop in FINISHED else ()


async def run_call(offered: Registry, call: ToolCall) -> ToolResult:
    """Find the tool, validate the arguments, run it. Whatever happens becomes the result."""

    async def attempt() -> Returned:
        prepared = offered.prepare(call)  # nothing has run yet
        return await offered.invoke(prepared)

    return await settle(call, attempt())


# endregion: steps


async def results_of(offered: Registry, reply: AssistantMessage) -> list[ToolResult]:
    """One result for each call, in order."""
    calls = calls_to_run(reply)
    if not calls:
        return refuse_calls(reply)
    return [await run_call(offered, call) for call in calls]


def nobody_listens(event: Event) -> None:
    """Where events go that nobody has asked for."""
