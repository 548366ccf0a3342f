"""One request to Gemini whose answer comes as events, through Google's own client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from chapters.ch01.connection import MAX_ANSWER_BYTES
from chapters.ch01.connection_errors import too_far, too_slow, unreachable
from chapters.ch01.endpoint import Endpoint, not_an_address
from chapters.ch01.provider_errors import status_meant_by, too_large
from chapters.ch04.gemini_client import NOT_INSTALLED, Opened, check, installed, open_client
from chapters.ch04.gemini_errors import judged, refusal
from chapters.ch04.wire import Json
from chapters.ch05.event_connection import MAX_STREAM_BYTES
from chapters.ch05.stream_errors import (
    Limits,
    no_event,
    no_stream,
    packed,
    silent,
    unreadable_event,
)
from shared.errors import ConfigError, ProviderError

if TYPE_CHECKING:
    import httpx2

    from chapters.ch05.gemini_stream_http import StreamedExchange, WatchedStream


# region: events
class GeminiEvents:
    """The way to one Gemini model whose replies are streamed. Use it in one event loop.

    `timeout` is for a whole reply, `idle` for the time without any byte of it, `connect_timeout`
    for reaching the server, all in seconds. Raises ConfigError if google-genai is not installed,
    and for a key, an address or a model that cannot be used at all. `transport` takes the place of
    the network, `headers` are sent with every request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        timeout: float = 300.0,
        idle: float = 120.0,
        connect_timeout: float = 10.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        if not installed():
            raise ConfigError(NOT_INSTALLED)
        check(endpoint)
        self.endpoint = endpoint
        self._limits = Limits(timeout, idle, connect_timeout)
        self._transport = transport
        self._headers = dict(headers or {})
        self._opened: Opened | None = None

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncGenerator[AsyncIterator[Json], None]:
        """The events of the answer as they came; leaving the context hangs up.

        Raises ProviderError, also in the middle, for whatever is no event of an answer.
        """
        from chapters.ch05.gemini_stream_http import StreamedExchange

        opened = self._opened = self._opened or self._open()
        exchange = StreamedExchange(content)
        # Nothing is sent before the first event is asked for. As in chapter 4, the SDK gets none of
        # the conversation: the body is put in below it.
        answers = await opened.client.aio.models.generate_content_stream(
            model=self.endpoint.model,
            contents="...",
            config=opened.config.model_copy(update={"should_return_http_response": None}),
        )
        events = self._events(answers, exchange)
        try:
            yield events
        finally:
            await events.aclose()
            if exchange.answer is not None:
                await exchange.answer.aclose()

    async def _events(
        self, answers: AsyncIterator[Any], exchange: StreamedExchange
    ) -> AsyncGenerator[Json, None]:
        until = asyncio.get_running_loop().time() + self._limits.whole
        while True:
            found = await self._next(answers, exchange, until)
            # Raised out here, so that no exception of the SDK, with the request and its key, hangs
            # on.
            if isinstance(found, ProviderError):
                raise found
            if found is None:
                return
            yield found

    async def _next(
        self, answers: AsyncIterator[Any], exchange: StreamedExchange, until: float
    ) -> Json | ProviderError | None:
        """The next event, or what went wrong; None at the end."""
        import httpx2

        from chapters.ch04.gemini_http import EXCHANGE
        from chapters.ch05.gemini_stream_http import WatchedStream
        from chapters.ch05.streaming_client import Packed, TooLong

        exchange.event, over, broken = None, False, False
        token = EXCHANGE.set(exchange)
        try:
            async with asyncio.timeout_at(until):
                await anext(answers)
        except StopAsyncIteration:
            over = True
        except TimeoutError:
            return too_slow(self.endpoint, self._limits.whole)
        except httpx2.ConnectTimeout:
            return too_far(self.endpoint, self._limits.connect)
        except httpx2.TimeoutException:
            return silent(self.endpoint, self._limits.idle)
        except TooLong as error:
            return too_large(self.endpoint, error.status, error.limit)
        except Packed as error:
            return packed(self.endpoint, error.status, error.encoding)
        except httpx2.RequestError as error:
            return unreachable(self.endpoint, error)
        except httpx2.InvalidURL:
            raise not_an_address(self.endpoint.url_variable) from None
        except Exception:
            if exchange.answer is None:  # else what came is judged, and not what the SDK makes
                raise
            broken = True
        finally:
            EXCHANGE.reset(token)
        answer = exchange.answer
        assert answer is not None
        if not isinstance(answer.stream, WatchedStream):
            return self._another_answer(answer)
        if over or broken:
            return self._judged_end(exchange.event, answer.stream, broken)
        if exchange.event is None:
            return unreadable_event(self.endpoint, "an event of it is no JSON object")
        return exchange.event

    def _judged_end(
        self, event: Json | None, stream: WatchedStream, broken: bool
    ) -> ProviderError | None:
        """What it means that the SDK has come to an end, or to something that it does not take."""
        if broken and event is not None and (error := event.get("error")):
            return refusal(self.endpoint, status_meant_by(error), error)
        if not stream.begun:
            return no_event(self.endpoint, 200, stream.beginning)
        return unreadable_event(self.endpoint, "an event of it is not JSON") if broken else None

    def _another_answer(self, answer: httpx2.Response) -> ProviderError:
        """What an answer means that is no stream: an error, a page, a reply in one piece."""
        try:
            status, content = judged(self.endpoint, answer)
        except ProviderError as failure:
            return failure
        kind = answer.headers.get("content-type", "")
        return no_stream(self.endpoint, status, kind, content)

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        opened, self._opened = self._opened, None
        if opened is not None:
            await opened.client.aio.aclose()
            await opened.below.aclose()  # the SDK leaves open what it was given

    def _open(self) -> Opened:
        import httpx2

        from chapters.ch05.gemini_stream_http import WatchedClient

        below = WatchedClient(
            max_bytes=MAX_ANSWER_BYTES,
            max_stream=MAX_STREAM_BYTES,
            timeout=httpx2.Timeout(None, connect=self._limits.connect, read=self._limits.idle),
            transport=self._transport,
        )
        return open_client(self.endpoint, self._headers, below)


# endregion: events
