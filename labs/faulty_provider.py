"""A provider on this machine that streams what a script says, and the real client before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from chapters.ch04.adapters import Access
from chapters.ch04.known_servers import KNOWN
from chapters.ch05.adapters import open_streaming_model
from labs.experiment import code_word
from labs.fault_scripts import Names
from labs.faults import Fault
from shared.ports import Model
from shared.provider_server import ProviderServer


@asynccontextmanager
async def streaming_from(server: ProviderServer, *, idle: float = 10.0) -> AsyncIterator[Model]:
    """The streaming client, connected to a server of ours; no proxy is asked.

    It hangs up when nothing has come for `idle` seconds.
    """
    import httpx2

    access = Access(server.base_url, "a-key", "a-model")
    transport = httpx2.AsyncHTTPTransport(verify=False)
    async with open_streaming_model(
        KNOWN["openai"], access, idle=idle, transport=transport
    ) as model:
        yield model


@asynccontextmanager
async def faulty_model(fault: Fault) -> AsyncIterator[Model]:
    """A model whose replies are spoilt, with files of new names."""
    with ProviderServer(*fault.script(Names(code_word()))) as server:
        async with streaming_from(server, idle=fault.idle) as model:
            yield model
