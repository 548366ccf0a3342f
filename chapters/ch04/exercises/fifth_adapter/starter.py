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
    # TODO: One entry for each tool, under a name that the provider takes.
    raise NotImplementedError("your turn")


def turns(group: Group, target: Target) -> list[Json]:
    """One group of a repaired history: always one turn, of the person, the model or the desk."""
    # TODO: Look at the first message to see whose turn it is; number asks and answers from 1.
    raise NotImplementedError("your turn")


def from_turn(body: Any, target: Target) -> AssistantMessage:
    """The JSON of an answer as our message. Raises UnreadableReply if it is no turn of a model."""
    # TODO: Unpack the parcels, translate the stop word, add up the tokens.
    raise NotImplementedError("your turn")


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
