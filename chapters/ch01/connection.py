"""One request through a provider's own client: bytes out, status and bytes back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from chapters.ch01.connection_errors import (
    causes,
    too_far,
    too_slow,
    unexpected,
    unreachable,
)
from chapters.ch01.endpoint import Endpoint, not_an_address
from chapters.ch01.provider_errors import redirected, refused, too_large, wait_of
from shared.errors import ProviderError

if TYPE_CHECKING:  # half a second to load, so only when a request is sent
    import httpx2

# The longest reply of a model is far below one megabyte.
MAX_ANSWER_BYTES = 20_000_000


@dataclass(frozen=True, slots=True)
class Sdk:
    """A provider's package, for the names of its exceptions, and a client of it."""

    package: ModuleType
    client: Any


OpenClient = Callable[[Endpoint, float, "httpx2.AsyncClient"], Sdk]
"""Makes a client that sends nothing twice: endpoint, seconds to connect, HTTP client below it."""


# region: connection
class Connection:
    """The way to one endpoint. Use it in one event loop, and close it there.

    `timeout` is for a whole request, `connect_timeout` for reaching the server, both in seconds.
    Raises ConfigError if the key or the address cannot be used at all. `transport` takes the place
    of the network, `headers` are sent with every request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        open_client: OpenClient,
        *,
        timeout: float = 300.0,
        connect_timeout: float = 10.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        endpoint.check()
        self.endpoint = endpoint
        self._open_client = open_client
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._transport = transport
        self._headers = dict(headers or {})
        self._sdk: Sdk | None = None

    async def post(self, content: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, unread: the SDKs check neither shape nor type of it.

        Raises ProviderError if there is no answer, or one with an error status. The body goes past
        the typed methods of the client, which walk through all of it at every call.
        """
        import httpx2

        from chapters.ch01.bounded_client import AnswerTooLarge

        sdk = self._sdk = self._sdk or self._open()
        failure: ProviderError
        try:
            async with asyncio.timeout(self._timeout):
                answer = await sdk.client.post(
                    self.endpoint.path,
                    content=content,
                    cast_to=httpx2.Response,
                    options={"headers": self._headers},
                )
                return answer.status_code, answer.content
        except TimeoutError:
            failure = too_slow(self.endpoint, self._timeout)
        except sdk.package.APITimeoutError:  # every other time-out of the client is off
            failure = too_far(self.endpoint, self._connect_timeout)
        except AnswerTooLarge as error:
            failure = too_large(self.endpoint, error.status, MAX_ANSWER_BYTES)
        except sdk.package.APIStatusError as error:
            headers = error.response.headers
            if error.response.has_redirect_location:
                failure = redirected(self.endpoint, error.status_code, headers["location"])
            else:
                wait = wait_of(headers)
                failure = refused(self.endpoint, error.status_code, error.body, wait)
        except sdk.package.APIConnectionError as error:
            inside = [each for each in causes(error) if isinstance(each, AnswerTooLarge)]
            if inside:  # some clients wrap whatever comes from below them
                failure = too_large(self.endpoint, inside[0].status, MAX_ANSWER_BYTES)
            else:
                failure = unreachable(self.endpoint, error)
        except Exception as error:
            failure = unexpected(self.endpoint, error)
        # Raised out here, so that no exception of the SDK, with the request and its key, hangs on.
        raise failure

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.client.close()

    def _open(self) -> Sdk:
        import httpx2

        from chapters.ch01.bounded_client import BoundedClient

        below = BoundedClient(max_bytes=MAX_ANSWER_BYTES, transport=self._transport)
        try:
            return self._open_client(self.endpoint, self._connect_timeout, below)
        except httpx2.InvalidURL:
            raise not_an_address(self.endpoint.url_variable) from None


# endregion: connection


def openai_client(endpoint: Endpoint, connect_timeout: float, below: httpx2.AsyncClient) -> Sdk:
    """OpenAI's client, for every server that speaks as OpenAI does."""
    import openai

    client = openai.AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        timeout=openai.Timeout(None, connect=connect_timeout),
        http_client=below,
    )
    # The SDK fills these from OPENAI_* variables, whoever the provider is.
    client.organization = client.project = None
    client._custom_headers = {}  # they may even hold another key
    return Sdk(openai, client)
