"""Rows of the mode `request`: a conversation that is refused as it is, and what has to be sent.

The bad conversation is read into our messages and sent through the adapter to a server that refuses
what providers refuse. Two things are judged: that it was taken, and that it says what the good one
says. Ids, and names and results that the bad one lacks, are ours to choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from chapters.ch04.conformance.answers import MODEL, connect
from chapters.ch04.conformance.plain import answered_in, calls_of, plain
from chapters.ch04.conformance.readers import read
from chapters.ch04.conformance.rows import Json, Row
from chapters.ch04.conformance.verdicts import Difference, differ
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Api, Provider, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.refusals.openai_apis import UNPAIRED
from shared.errors import ConfigError, ProviderError
from shared.messages import (
    AssistantMessage,
    Message,
    Request,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, ProviderServer, Received

KEYS = {
    Api.CHAT: "messages",
    Api.ANTHROPIC: "messages",
    Api.RESPONSES: "input",
    Api.GEMINI: "contents",
}
TAKEN: Mapping[Api, Json] = {
    Api.CHAT: {
        "choices": [{"message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]
    },
    Api.RESPONSES: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "ok"}]}],
    },
    Api.ANTHROPIC: {"content": [{"type": "text", "text": "ok"}], "stop_reason": "end_turn"},
    Api.GEMINI: {"candidates": [{"content": {"parts": [{"text": "ok"}]}, "finishReason": "STOP"}]},
}


# region: play
async def play(row: Row, provider: Provider) -> list[Difference]:
    """Send the conversation of a row, and compare what arrived."""
    api, document = provider.api, row.document()
    bad, good = document.get("bad"), document.get("good")
    provider = record_for(good, provider)
    if isinstance(bad, Mapping) and isinstance(bad.get("tools_count"), int):
        return await play_tools(bad["tools_count"], provider)
    origin = Target(provider, MODEL).origin
    go: list[Message] = [UserMessage("go")]  # where only the tools are bad
    said, wanted = (read(api, messages_of(each, api), origin) or go for each in (bad, good))
    if signatures(wanted) > signatures(said):  # the bad request has lost what only a history has
        said = wanted
    request = Request(tuple(said), tools_of(bad))
    with ProviderServer(picky(provider, document)) as server:
        problem = await send(request, provider, server)
        received = server.requests
    if problem or not received:
        return [Difference("request", "taken", problem or "nothing was sent")]
    sent = read(api, received[0].body.get(KEYS[api]), origin)
    names = {call.name for message in said for call in calls_of(message)}
    names = {name for name in names if wire_name(name, provider.name_limit) == name}
    answered = answered_in(said)
    return list(differ("messages", plain(wanted, names, answered), plain(sent, names, answered)))


async def play_tools(number: int, provider: Provider) -> list[Difference]:
    """More tools than the provider takes are refused here, with their number, and not there."""
    tools = tuple(ToolSpec(f"tool_{index}", "One.", {"type": "object"}) for index in range(number))
    with ProviderServer(picky(provider, {})) as server:
        problem = await send(Request((UserMessage("go"),), tools), provider, server)
        asked = len(server.requests)
    found = list(differ("requests", 0, asked))
    if str(number) not in (problem or ""):
        found.append(Difference("error", f"a message that names the {number} tools", str(problem)))
    return found


async def send(request: Request, provider: Provider, server: ProviderServer) -> str | None:
    """What went wrong with one request; None if it was taken."""
    async with connect(server, provider) as model:
        try:
            await model.reply(request, lambda event: None)
        except (ConfigError, ProviderError) as error:
            return str(error)
    return None


def picky(provider: Provider, document: Json) -> Any:
    """A server that refuses what any provider refuses, in the words of the row."""
    good = messages_of(document.get("good"), provider.api)
    reasons = any(item.get("type") == "reasoning" for item in good or [])
    rejects = document.get("rejects") or {"status": 400, "body": {"error": {"message": "refused"}}}

    def answer(received: Received) -> Answer:
        found = refusals(provider.api, received.body, provider)
        found = [each for each in found if reasons or UNPAIRED not in each]
        if not found:
            return Answer(TAKEN[provider.api])
        error = {"message": "; ".join(found), "said": rejects.get("body")}
        return Answer({"error": error}, status=rejects.get("status", 400))

    return answer


# endregion: play


def messages_of(request: Any, api: Api) -> Any:
    """The messages in `bad` or `good`: a list of them, or a whole body."""
    return request.get(KEYS[api]) if isinstance(request, Mapping) else request


def tools_of(request: Any) -> tuple[ToolSpec, ...]:
    """The tools that a whole body offers, by their names."""
    names: list[str] = []
    for tool in (request.get("tools") or []) if isinstance(request, Mapping) else []:
        declared = tool.get("functionDeclarations") or [tool.get("function") or tool]
        names += [str(each["name"]) for each in declared if "name" in each]
    schema: Json = {"type": "object", "properties": {}}
    return tuple(ToolSpec(name, "One.", schema) for name in names)


def record_for(good: Any, provider: Provider) -> Provider:
    """The record that the server of a row asks for, as its good request shows.

    That is how many tools it takes, and what stands beside calls that have no text.
    """
    if isinstance(good, Mapping) and isinstance(good.get("tools_count_max"), int):
        return replace(provider, max_tools=good["tools_count_max"])
    messages = messages_of(good, provider.api) or []
    for message in messages if provider.api is Api.CHAT else []:
        if message.get("tool_calls") and not message.get("content"):
            return replace(provider, empty_content=message.get("content"))
    return provider


def signatures(messages: Sequence[Message]) -> int:
    """How many parts of replies carry something that only their provider can make."""
    replies = [message for message in messages if isinstance(message, AssistantMessage)]
    return sum(bool(part.signature) for reply in replies for part in reply.content)
