"""Google's own client, told everything that it would look for elsewhere."""

from __future__ import annotations

import logging
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from chapters.ch01.endpoint import Endpoint
from shared.errors import ConfigError

if TYPE_CHECKING:  # a third of a second to load, so only when a request is sent
    import httpx2
    from google import genai
    from google.genai.types import GenerateContentConfig

API_VERSION = "v1beta"
MODEL = re.compile(r"((models|tunedModels)/)?[A-Za-z0-9][A-Za-z0-9._@-]*")
QUIET = logging.NullHandler()
NOT_INSTALLED = (
    "Gemini needs one more package. Install it in the folder of the workbook: "
    "pip install -e '.[gemini]'"
)


@dataclass(frozen=True, slots=True)
class Opened:
    """Google's client, the HTTP client below it, and how every request is configured."""

    client: genai.Client
    below: httpx2.AsyncClient
    config: GenerateContentConfig


# region: client
def open_client(
    endpoint: Endpoint, headers: Mapping[str, str], below: httpx2.AsyncClient
) -> Opened:
    """Google's client, which takes nothing from the environment and asks nothing on its own."""
    from google import genai
    from google.genai.client import DebugConfig
    from google.genai.types import (
        AutomaticFunctionCallingConfig,
        GenerateContentConfig,
        HttpOptions,
    )

    # With two keys in the environment it warns that it uses one of them, and it uses neither.
    logging.getLogger("google_genai").addHandler(QUIET)
    # For connections that are never opened, and that would trust nobody. Else the SDK reads all
    # the certificates of the system for them, twice.
    unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        client = genai.Client(
            # Each of these is looked up in GOOGLE_* or GEMINI_* variables unless it is given.
            enterprise=False,
            api_key=endpoint.api_key,
            debug_config=DebugConfig(client_mode=None, replays_directory=None, replay_id=None),
            http_options=HttpOptions(
                base_url=endpoint.base_url,
                api_version=API_VERSION,
                headers=dict(headers),
                httpx_async_client=below,
                client_args={"verify": unused},
                async_client_args={"ssl": unused},
            ),
        )
    except ImportError:
        raise ConfigError(
            "GOOGLE_GENAI_HTTP_CLIENT asks for an HTTP client that is not installed. Remove that "
            "variable."
        ) from None
    config = GenerateContentConfig(
        should_return_http_response=True,  # else the answer is turned into objects
        automatic_function_calling=AutomaticFunctionCallingConfig(disable=True),
        automatic_continuation=False,  # would ask again by itself
    )
    return Opened(client, below, config)


def installed() -> bool:
    """True if google-genai is there. It is not loaded."""
    try:
        return find_spec("google.genai") is not None
    except ImportError:
        return False


def check(endpoint: Endpoint) -> None:
    """Raise ConfigError for what no request to Gemini can be sent with."""
    endpoint.check()
    if not MODEL.fullmatch(endpoint.model) or ".." in endpoint.model:
        raise ConfigError(
            f"{endpoint.model_variable} is not the name of a Gemini model. The name is part of the "
            "address: letters, digits, dots and hyphens."
        )
    if endpoint.api_key.startswith("auth_tokens/"):
        raise ConfigError(
            f"{endpoint.key_variable} holds a token for the Live API, with which no message can be "
            "sent. Put an API key there."
        )


# endregion: client
