"""What a provider refuses in a request, as rules on its JSON: one function for each API.

    refusals(Api.CHAT, body, provider)    a list of sentences; empty if the request is taken

The rules are those of references and public reports, and always those of the strictest server: what
passes here passes anywhere. They know nothing of how a request is made, so they can judge one that
any program has made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from chapters.ch01.dispatch import LONE_SURROGATE
from chapters.ch04.provider import Api, Provider
from chapters.ch04.refusals.block_apis import anthropic, gemini
from chapters.ch04.refusals.openai_apis import chat, responses
from chapters.ch04.refusals.rules import Json, Rules, each_once, inside, named, objects

RULES: Mapping[Api, Rules] = {
    Api.CHAT: chat,
    Api.RESPONSES: responses,
    Api.ANTHROPIC: anthropic,
    Api.GEMINI: gemini,
}


# region: refusals
def refusals(api: Api, body: Any, provider: Provider) -> list[str]:
    """Everything that a server speaking `api` would refuse in `body`, the JSON of a request.

    `provider` says what this server wants where servers differ.
    """
    if not isinstance(body, Mapping):
        return ["the request is not an object"]
    return [*_sendable(body), *_tools(body, provider), *RULES[api](body, provider)]


# endregion: refusals


def _sendable(value: Any) -> Iterator[str]:
    """Half a surrogate pair has no bytes in UTF-8."""
    waiting = [value]  # and no recursion: a request may be nested deeper than Python likes
    while waiting:
        found = waiting.pop()
        if isinstance(found, str) and LONE_SURROGATE.search(found):
            yield f"a lone surrogate in {found[:40]!r}"
        elif isinstance(found, Mapping):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list):
            waiting += found


def _tools(body: Json, provider: Provider) -> Iterator[str]:
    if "tools" not in body:
        return
    tools: list[Json] = []
    for tool in objects(body["tools"]):
        tools += objects(tool.get("functionDeclarations")) or [inside(tool, "function") or tool]
    if not tools:
        yield "tools: empty; leave the key out"
    if provider.max_tools is not None and len(tools) > provider.max_tools:
        yield f"tools: at most {provider.max_tools}, got {len(tools)}"
    names = [tool.get("name") for tool in tools]
    yield from each_once("tools", names)
    for name in names:
        yield from named("tools", name, provider)
