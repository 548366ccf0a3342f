"""Which signatures go back: what cannot be sent stays here, and what may be sent once is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from chapters.ch01.dispatch import LONE_SURROGATE, parse_arguments
from chapters.ch04.provider import Api
from shared.errors import ToolError
from shared.messages import AssistantMessage, Text, Thinking, ToolCall

ITEM_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")

Part = Text | Thinking | ToolCall


def signed(signature: str) -> dict[str, object]:
    """What a signature says that is a JSON object; empty if it is none that can be sent."""
    try:
        said = parse_arguments(signature)
        json.dumps(said, allow_nan=False)  # 1e999 is read as infinity, which JSON does not have
    except (ToolError, ValueError, RecursionError):
        return {}
    return said


# region: signatures
class Signatures:
    """Goes through the replies of one history, in order, and tells which signatures can be sent.

    In Responses a signature names an item, and no item may come twice, whether in one reply or in
    two. A second one goes back without its id, and thinking, which is nothing but its item, not at
    all. What followed that thinking loses its id too: it would want its thinking beside it.
    """

    def __init__(self, api: Api) -> None:
        self._named = api is Api.RESPONSES
        self._signs_text = api is Api.GEMINI  # Chat Completions and Messages do not
        self._sent: set[str] = set()

    def sendable(self, reply: AssistantMessage) -> Iterator[Part]:
        """The parts of a reply, each with the signature that it can have. Not all thinking is."""
        if self._named:
            yield from self._once(reply)
            return
        for part in reply.content:
            means_something = self._signs_text or not isinstance(part, Text)
            if means_something and not LONE_SURROGATE.search(part.signature):
                yield part
            else:
                yield replace(part, signature="")

    def _once(self, reply: AssistantMessage) -> Iterator[Part]:
        orphaned, message = False, ""  # the message that the part before was a piece of
        for part in reply.content:
            item = _item_of(part)
            fresh = item is not None and item not in self._sent
            more = isinstance(part, Text) and item is not None and item == message
            message = ""
            if isinstance(part, Thinking):
                if part.signature and not fresh:
                    orphaned = True
                    continue
                orphaned = orphaned and not part.signature
            elif orphaned or not (fresh or more):
                part = replace(part, signature="")
            elif isinstance(part, Text) and item is not None:
                message = item
            if item is not None:
                self._sent.add(item)
            yield part


# endregion: signatures


def _item_of(part: Part) -> str | None:
    """The id of the item that a part came in; None if it has none that the API takes."""
    item = {"id": part.signature} if isinstance(part, ToolCall) else signed(part.signature)
    if isinstance(part, Thinking) and item.get("type") == "reasoning" and "id" not in item:
        return part.signature
    found = item.get("id")
    return found if isinstance(found, str) and ITEM_ID.fullmatch(found) else None
