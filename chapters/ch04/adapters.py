"""From a record to a model that can be asked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from chapters.ch01.connection import Connection, openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.live import Poster, ProviderModel
from chapters.ch04.provider import Api, Provider, Target
from chapters.ch04.which_field import advice_on
from chapters.ch04.wire import Wire

if TYPE_CHECKING:
    import httpx2


@dataclass(frozen=True, slots=True)
class Access:
    """Where a model is reached: address, key, name. `prefix` is how its settings are called."""

    base_url: str
    api_key: str = field(repr=False)
    model: str
    prefix: str = "WORKBOOK_"


def wire_of(api: Api) -> Wire:
    """The pure functions of an API."""
    match api:
        case Api.CHAT:
            from chapters.ch04.chat import CHAT

            return CHAT
        case Api.RESPONSES:
            from chapters.ch04.responses import RESPONSES

            return RESPONSES
        case Api.ANTHROPIC:
            from chapters.ch04.anthropic_messages import ANTHROPIC

            return ANTHROPIC
        case Api.GEMINI:
            from chapters.ch04.gemini import GEMINI

            return GEMINI


# region: open
def open_model(
    provider: Provider,
    access: Access,
    *,
    timeout: float = 300.0,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> ProviderModel:
    """The model that `access` names, spoken to as `provider` wants it.

    Raises ConfigError for an address or a key that cannot be used, and for a client that is not
    installed. `timeout` is for a whole request, in seconds; `transport` takes the place of the
    network.
    """
    target = Target(provider, access.model)
    wire = wire_of(provider.api)
    endpoint = endpoint_of(wire, target, access)
    return ProviderModel(target, wire, _connection(endpoint, provider, timeout, transport))


# endregion: open


def endpoint_of(wire: Wire, target: Target, access: Access) -> Endpoint:
    """Where requests go, and how to speak of it in a message."""
    path = wire.path(target)
    version = "/" + path.split("/")[1]  # some write it into the address, some do not
    return Endpoint(
        base_url=access.base_url.strip().rstrip("/").removesuffix(version),
        api_key=access.api_key.strip(),
        model=target.model,
        path=path,
        prefix=access.prefix,
        usually=wire.usually,
        answer=wire.answer,
        advice=lambda said: advice_on(said, target.provider, access.prefix),
    )


def _connection(
    endpoint: Endpoint,
    provider: Provider,
    timeout: float,
    transport: httpx2.AsyncBaseTransport | None,
) -> Poster:
    match provider.api:
        case Api.CHAT | Api.RESPONSES:
            open_client = openai_client
        case Api.ANTHROPIC:
            from chapters.ch04.anthropic_client import anthropic_client as open_client
        case Api.GEMINI:
            from chapters.ch04.gemini_connection import GeminiConnection

            return GeminiConnection(
                endpoint, timeout=timeout, transport=transport, headers=provider.headers
            )
    return Connection(
        endpoint, open_client, timeout=timeout, transport=transport, headers=provider.headers
    )
