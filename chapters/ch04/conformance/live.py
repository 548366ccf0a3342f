"""A few questions to a real provider: does it do what the agent relies on?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from chapters.ch01.dispatch import parse_arguments
from chapters.ch04.conformance.verdicts import shorten
from shared.errors import ProviderError, ToolError, WorkbookError
from shared.messages import (
    AssistantMessage,
    Message,
    Request,
    StopReason,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.ports import Model

WEATHER = ToolSpec(
    "get_weather",
    "The weather in a city, now.",
    {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "The name of the city."}},
        "required": ["city"],
        "additionalProperties": False,
    },
)
SUNNY = "12 degrees, sunny."
LONG = 50_000  # characters
FOREIGN_WORDS = "Grüße 北京 👩‍🚀"
HOPELESS = {401, 402, 403, 404}  # the next request would be answered alike


class Seen(StrEnum):
    """What can come of a probe."""

    HOLDS = "holds"
    FAILS = "does not hold"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class Finding:
    """What came of one probe, and what was seen."""

    name: str
    seen: Seen
    text: str


class NotHeld(Exception):
    """The provider did something else; the message says what."""


# region: probes
async def text_without_tools(model: Model) -> str:
    """With no tool on offer there is text."""
    reply = await ask(model, UserMessage("Reply with the single word: ready"), tools=())
    return said_by(reply)


async def one_call(model: Model) -> str:
    """A tool is called, and its result is read."""
    asked = UserMessage("What is the weather in Oslo? Use get_weather, then answer in one line.")
    reply = await ask(model, asked)
    calls = weather_calls(reply, 1)
    answer = await ask(model, asked, reply, *results(calls, SUNNY))
    return f"{shown(calls)}, then {said_by(answer)}"


async def parallel_calls(model: Model) -> str:
    """Two calls come in one reply, and both results are taken."""
    asked = UserMessage(
        "Call get_weather for Oslo and for Rome, both calls in one reply. Then answer in one line."
    )
    reply = await ask(model, asked)
    calls = weather_calls(reply, 2)
    if len({call.id for call in calls}) < len(calls):
        raise NotHeld(f"two calls with one id: {shown(calls)}")
    answer = await ask(model, asked, reply, *results(calls, SUNNY))
    return f"{shown(calls)}, then {said_by(answer)}"


async def failed_result(model: Model) -> str:
    """A result that says it is a failure is taken."""
    failure = ToolResult.failure(CALL, "timeout", "The weather service did not answer.")
    return said_by(await ask(model, ASKED, REPLY, failure))


async def long_result(model: Model) -> str:
    """A long result is taken."""
    line = "2026-11-30 12:00 Oslo 12 degrees sunny\n"
    text = (line * (LONG // len(line) + 1))[:LONG]
    answer = await ask(model, ASKED, REPLY, ToolResult(CALL.id, CALL.name, text))
    return f"{len(text):,} characters were taken, then {said_by(answer)}"


async def foreign_words(model: Model) -> str:
    """What is not ASCII comes back as it was sent."""
    asked = UserMessage(f"Repeat exactly what follows, and nothing else: {FOREIGN_WORDS}")
    text = said_by(await ask(model, asked, tools=()))
    if FOREIGN_WORDS not in text:
        raise NotHeld(f"asked for {FOREIGN_WORDS}, got {text}")
    return text


ASKED = UserMessage("What is the weather in Oslo? Answer in one line.")
CALL = ToolCall("call_1", WEATHER.name, '{"city": "Oslo"}')
REPLY = AssistantMessage((CALL,))

Probe = Callable[[Model], Awaitable[str]]
PROBES: tuple[tuple[str, Probe, int], ...] = (
    ("text without tools", text_without_tools, 1),
    ("one call", one_call, 2),
    ("parallel calls", parallel_calls, 2),
    ("failed result", failed_result, 1),
    ("long result", long_result, 1),
    ("unicode", foreign_words, 1),
)
REQUESTS = sum(number for _, _, number in PROBES)
# endregion: probes


# region: try
async def try_all(model: Model) -> AsyncIterator[Finding]:
    """One probe after another. Stops asking once every further request would fail alike."""
    hopeless = ""
    for name, probe, _ in PROBES:
        if hopeless:
            yield Finding(name, Seen.NOT_TRIED, hopeless)
            continue
        try:
            yield Finding(name, Seen.HOLDS, await probe(model))
        except NotHeld as problem:
            yield Finding(name, Seen.FAILS, str(problem))
        except WorkbookError as error:
            yield Finding(name, Seen.FAILS, str(error))
            if not isinstance(error, ProviderError) or is_hopeless(error):
                hopeless = "the provider cannot be asked; see above"


def is_hopeless(error: ProviderError) -> bool:
    """Whether the next request would fail, too, whatever it asks."""
    return error.status in HOPELESS or error.kind in ("connection", "timeout")


# endregion: try


async def ask(
    model: Model, *messages: Message, tools: tuple[ToolSpec, ...] = (WEATHER,)
) -> AssistantMessage:
    """One reply to these messages."""
    reply = await model.reply(Request(messages, tools), lambda event: None)
    if reply.stop is StopReason.MISSING:  # the loop would take it for half a reply
        raise NotHeld(
            "the reply came without a finish reason. If it never has one, "
            "WORKBOOK_FINISH_REQUIRED=false says that such replies are whole"
        )
    return reply


def said_by(reply: AssistantMessage) -> str:
    """The text of a reply that has some and asks for nothing more."""
    if reply.calls or not reply.text.strip():
        what = f"calls of {shown(reply.calls)}" if reply.calls else "nothing"
        raise NotHeld(f"instead of text came {what} (stop reason {reply.stop})")
    return f'"{shorten(reply.text.strip())}"'


def weather_calls(reply: AssistantMessage, number: int) -> tuple[ToolCall, ...]:
    """The calls of a reply, if they are as many as asked for, and as the tool takes them."""
    calls = reply.calls
    if len(calls) != number:
        found = shown(calls) or f'the text "{shorten(reply.text)}"'
        raise NotHeld(f"{number} calls were asked for, and there came {found}")
    for call in calls:
        try:
            arguments = parse_arguments(call.arguments)
        except ToolError as error:
            raise NotHeld(f"{shown([call])}: {error.message}") from None
        if call.name != WEATHER.name or not isinstance(arguments.get("city"), str):
            raise NotHeld(f"a call that nobody asked for: {shown([call])}")
    return calls


def results(calls: tuple[ToolCall, ...], text: str) -> list[ToolResult]:
    """The same result for every call."""
    return [ToolResult(call.id, call.name, text) for call in calls]


def shown(calls: tuple[ToolCall, ...] | list[ToolCall]) -> str:
    """Calls in one line."""
    return ", ".join(f"{call.name}({shorten(call.arguments)})" for call in calls)
