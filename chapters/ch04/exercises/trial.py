"""What the tests of these exercises share: a model behind any wire, at a server on 127.0.0.1."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapters.ch01.connection import Connection, openai_client
from chapters.ch04.adapters import Access, endpoint_of
from chapters.ch04.live import ProviderModel
from chapters.ch04.provider import Target
from chapters.ch04.wire import Wire

if TYPE_CHECKING:
    import httpx2


def nearby() -> httpx2.AsyncBaseTransport:
    """The way to a server here. Nothing is encrypted, and loading certificates would take time."""
    import httpx2

    return httpx2.AsyncHTTPTransport(verify=False)


def model_at(base_url: str, wire: Wire, target: Target) -> ProviderModel:
    """The model, reached through one client for every API: it posts JSON and reads what comes."""
    endpoint = endpoint_of(wire, target, Access(base_url, "a-key", target.model))
    return ProviderModel(target, wire, Connection(endpoint, openai_client, transport=nearby()))
