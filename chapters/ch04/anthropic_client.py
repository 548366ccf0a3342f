"""Anthropic's own client, used as the chapter uses every client: one request, bytes both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chapters.ch01.connection import Sdk
from chapters.ch01.endpoint import Endpoint

if TYPE_CHECKING:
    import httpx2


# region: client
def anthropic_client(endpoint: Endpoint, connect_timeout: float, below: httpx2.AsyncClient) -> Sdk:
    """Anthropic's client, for every server that speaks as Anthropic does.

    It sends nothing twice, traces nothing, and takes no setting from the environment.
    """
    import anthropic

    client = anthropic.AsyncAnthropic(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        timeout=anthropic.Timeout(None, connect=connect_timeout),
        http_client=below,
        open_telemetry=False,
    )
    # Filled from ANTHROPIC_CUSTOM_HEADERS, which may even hold another key.
    client._custom_headers = {}
    return Sdk(anthropic, client)


# endregion: client
