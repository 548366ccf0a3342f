"""From a record to a model whose reply is seen while it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapters.ch01.connection import openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.adapters import Access, endpoint_of
from chapters.ch04.provider import Api, Provider, Target
from chapters.ch05.accumulator import StreamWire
from chapters.ch05.event_connection import EventConnection
from chapters.ch05.streaming import EventSource, StreamingModel

if TYPE_CHECKING:
    import httpx2


def stream_wire_of(api: Api) -> StreamWire:
    """How an API streams."""
    match api:
        case Api.CHAT:
            from chapters.ch05.chat_stream import CHAT_STREAM

            return CHAT_STREAM
        case Api.RESPONSES:
            from chapters.ch05.responses_stream import RESPONSES_STREAM

            return RESPONSES_STREAM
        case Api.ANTHROPIC:
            from chapters.ch05.anthropic_stream import ANTHROPIC_STREAM

            return ANTHROPIC_STREAM
        case Api.GEMINI:
            from chapters.ch05.gemini_stream import GEMINI_STREAM

            return GEMINI_STREAM


# region: open
def open_streaming_model(
    provider: Provider,
    access: Access,
    *,
    timeout: float = 300.0,
    idle: float = 120.0,
    transport: httpx2.AsyncBaseTransport | None = None,
) -> StreamingModel:
    """The model that `access` names, spoken to as `provider` wants it, and heard as it speaks.

    Raises ConfigError for an address or a key that cannot be used, and for a client that is not
    installed. `timeout` is for a whole reply, `idle` for the time without any byte of it, both in
    seconds; `transport` takes the place of the network.
    """
    target = Target(provider, access.model)
    streamed = stream_wire_of(provider.api)
    endpoint = endpoint_of(streamed.wire, target, access)
    source = _source(endpoint, provider, timeout, idle, transport)
    return StreamingModel(target, streamed, source)


# endregion: open


def _source(
    endpoint: Endpoint,
    provider: Provider,
    timeout: float,
    idle: float,
    transport: httpx2.AsyncBaseTransport | None,
) -> EventSource:
    match provider.api:
        case Api.CHAT | Api.RESPONSES:
            open_client = openai_client
        case Api.ANTHROPIC:
            from chapters.ch04.anthropic_client import anthropic_client as open_client
        case Api.GEMINI:
            from chapters.ch05.gemini_events import GeminiEvents

            return GeminiEvents(
                endpoint,
                timeout=timeout,
                idle=idle,
                transport=transport,
                headers=provider.headers,
            )
    return EventConnection(
        endpoint,
        open_client,
        timeout=timeout,
        idle=idle,
        transport=transport,
        headers=provider.headers,
    )
