"""One request to Gemini through Google's own client: bytes out, status and bytes back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from chapters.ch01.connection import MAX_ANSWER_BYTES
from chapters.ch01.connection_errors import (
    too_far,
    too_slow,
    unexpected,
    unreachable,
)
from chapters.ch01.endpoint import Endpoint, not_an_address
from chapters.ch01.provider_errors import too_large
from chapters.ch04.gemini_client import NOT_INSTALLED, Opened, check, installed, open_client
from chapters.ch04.gemini_errors import judged
from shared.errors import ConfigError, ProviderError

if TYPE_CHECKING:
    import httpx2

    from chapters.ch04.gemini_http import Exchange


# region: connection
class GeminiConnection:
    """The way to one Gemini model. Use it in one event loop, and close it there.

    `timeout` is for a whole request, `connect_timeout` for reaching the server, both in seconds.
    Raises ConfigError if google-genai is not installed, and for a key, an address or a model that
    cannot be used at all. `transport` takes the place of the network, `headers` are sent with every
    request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float = 300.0,
        connect_timeout: float = 10.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if not installed():
            raise ConfigError(NOT_INSTALLED)
        check(endpoint)
        self.endpoint = endpoint
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._transport = transport
        self._headers = dict(headers or {})
        self._opened: Opened | None = None

    async def post(self, content: bytes) -> tuple[int, bytes]:
        """Status and body of the answer, unread.

        Raises ProviderError if there is no answer, or one with an error status.
        """
        from chapters.ch04.gemini_http import Exchange

        exchange = Exchange(content)
        failure = await self._send(exchange)
        # Raised out here, so that no exception of the SDK, with the request and its key, hangs on.
        if failure is not None:
            raise failure
        assert exchange.answer is not None
        return judged(self.endpoint, exchange.answer)

    async def _send(self, exchange: Exchange) -> ProviderError | None:
        """Fill in the answer, or tell why there is none."""
        import httpx2

        from chapters.ch01.bounded_client import AnswerTooLarge
        from chapters.ch04.gemini_http import EXCHANGE

        opened = self._opened = self._opened or self._open()
        token = EXCHANGE.set(exchange)
        try:
            async with asyncio.timeout(self._timeout):
                # The SDK turns the contents that it is given into objects, copies these, and turns
                # them into JSON again: all of a conversation, at every call. So it gets none of it.
                # It finds the address and signs the request; the body is put in below it.
                await opened.client.aio.models.generate_content(
                    model=self.endpoint.model, contents="...", config=opened.config
                )
        except TimeoutError:
            return too_slow(self.endpoint, self._timeout)
        except httpx2.ConnectTimeout:  # every other time-out of the client is off
            return too_far(self.endpoint, self._connect_timeout)
        except AnswerTooLarge as error:
            return too_large(self.endpoint, error.status, MAX_ANSWER_BYTES)
        except httpx2.RequestError as error:
            return unreachable(self.endpoint, error)
        except httpx2.InvalidURL:
            raise not_an_address(self.endpoint.url_variable) from None
        except Exception as error:
            if exchange.answer is None:  # else the answer is judged, and not what the SDK makes
                return unexpected(self.endpoint, error)
        finally:
            EXCHANGE.reset(token)
        return None

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.client.aio.aclose()
            await opened.below.aclose()  # the SDK leaves open what it was given

    def _open(self) -> Opened:
        from chapters.ch04.gemini_http import PreparedClient

        below = PreparedClient(
            max_bytes=MAX_ANSWER_BYTES,
            connect_timeout=self._connect_timeout,
            transport=self._transport,
        )
        return open_client(self.endpoint, self._headers, below)


# endregion: connection
