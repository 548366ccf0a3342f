"""Parcel: an API that is compatible with nothing, as a `Wire`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from chapters.ch01.chat_wire import UnreadableReply, arguments_of, clean
from chapters.ch01.connection import Connection, openai_client
from chapters.ch04.adapters import Access, endpoint_of
from chapters.ch04.live import ProviderModel
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Api, Provider, Target
from chapters.ch04.repair import Group
from chapters.ch04.wire import Json, Wire, arguments_object, finished, objects, tokens, words
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)

if TYPE_CHECKING:
    import httpx2

PROVIDER = Provider(
    "parcel",
    cast(Api, "parcel"),  # the chapter's list of APIs is closed, and this one is not in it
    "Parcel",
    "https://api.parcel.example",
    token_limit_key="most",
    max_tokens=8_192,
    images=False,
    call_ids=False,
    blank_text=False,
)
NOTHING = "(no output)"  # what stands for a result without text: an answer may not be empty


def abilities(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer: the field `abilities` of a request."""
    # solution: One entry for each tool, under a name that the provider takes.
    return {
        "abilities": [
            {
                "called": wire_name(spec.name, target.provider.name_limit),
                "for": spec.description,
                "takes": dict(spec.parameters),
            }
            for spec in specs
        ]
    }
    # end solution


def turns(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history: always one turn, of the person, the model or the desk."""
    # solution: Look at the first message to see whose turn it is; number asks and answers from 1.
    match group.messages[0]:
        case UserMessage() as said:
            return [{"by": "person", "says": said.text}]
        case AssistantMessage() as reply:
            return [{"by": "model", "parcels": parcels(reply)}]
        case _:
            return [{"by": "desk", "answers": answers(group)}]


def parcels(reply: AssistantMessage) -> list[Json]:
    """What a reply holds, in its order. Thinking that nobody has sealed stays here."""
    packed: list[Json] = []
    asked = 0
    for part in reply.content:
        match part:
            case Text():
                packed.append({"text": part.text})
            case Thinking() if part.signature:
                packed.append({"thought": part.text, "seal": part.signature})
            case ToolCall():
                asked += 1
                packed.append({"ask": asked, "ability": part.name, "with": arguments_object(part)})
    return packed


def answers(group: Group) -> list[Json]:
    """The results of a reply. They stand in the order of its calls, so counting them is enough."""
    return [
        {"to": number, "text": result.text or NOTHING, "failed": result.code is not None}
        for number, result in enumerate(group.messages, start=1)
        if isinstance(result, ToolResult)
    ]
    # end solution


def from_turn(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if it is no turn of a model."""
    # solution: Unpack the parcels, translate the stop word, add up the tokens.
    if not isinstance(body, dict) or "parcels" not in body:
        raise UnreadableReply("`parcels` is missing")
    content = [part for each in objects(body, "parcels") if (part := unpacked(each))]
    ended = words(body, "ended")
    stop = STOP_REASONS.get(ended, StopReason.UNKNOWN)
    return finished(AssistantMessage(tuple(content), stop, ended, usage(body)), target)


STOP_REASONS = {
    "answered": StopReason.END_TURN,
    "asking": StopReason.TOOL_USE,
    "full": StopReason.MAX_TOKENS,
    "declined": StopReason.REFUSAL,
    "withheld": StopReason.CONTENT_FILTER,
    "": StopReason.MISSING,
}


def unpacked(parcel: Json) -> Text | Thinking | ToolCall | None:
    """One parcel as ours; None for an empty one, and for a kind that we do not know."""
    if "ask" in parcel:  # its number names it in this turn only, so it is no id for a history
        return ToolCall("", words(parcel, "ability"), arguments_of(parcel.get("with")))
    if "thought" in parcel:
        return Thinking(words(parcel, "thought"), words(parcel, "seal"))
    text = words(parcel, "text")
    return Text(text) if text else None


def usage(body: Json) -> Usage | None:
    """The tokens. What was read again, from a cache, is not part of what was read."""
    if not isinstance(body.get("spent"), dict):
        return None
    reread = tokens(body, "spent", "reread")
    return Usage(
        tokens(body, "spent", "read") + reread,
        tokens(body, "spent", "wrote"),
        cached_tokens=reread,
        reasoning_tokens=tokens(body, "spent", "thought"),
    )
    # end solution


def fields(request: Request, target: Target) -> Json:
    """What a request says besides turns and abilities."""
    said: Json = {
        "model": target.model,
        target.provider.token_limit_key: target.provider.max_tokens,
    }
    if request.system.strip():
        said["brief"] = clean(request.system)
    return said


PARCEL = Wire(
    key="exchange",
    path=lambda target: "/v1/exchange",
    tools=abilities,
    items=turns,
    reply=from_turn,
    fields=fields,
    answer="a turn of the model",
    usually="looks like https://api.parcel.example",
)


def open_parcel(
    access: Access, *, timeout: float = 300.0, transport: httpx2.AsyncBaseTransport | None = None
) -> ProviderModel:
    """A model at Parcel. The client is OpenAI's: it posts JSON with a bearer key to any path."""
    target = Target(PROVIDER, access.model)
    endpoint = endpoint_of(PARCEL, target, access)
    connection = Connection(endpoint, openai_client, timeout=timeout, transport=transport)
    return ProviderModel(target, PARCEL, connection)
