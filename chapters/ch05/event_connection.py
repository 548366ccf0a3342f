"""One request through a provider's own client, whose answer is read while it arrives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from chapters.ch01.connection import MAX_ANSWER_BYTES, OpenClient, Sdk
from chapters.ch01.endpoint import Endpoint, not_an_address
from chapters.ch04.wire import Json
from chapters.ch05.stream_errors import Limits, failure_of, no_event, no_stream, unreadable_event
from shared.errors import ProviderError

if TYPE_CHECKING:
    import httpx2

# An event holds a few characters of the reply and some 400 bytes around them: 250,000 of them,
# twice what the longest replies have. None of it is kept but those characters.
MAX_STREAM_BYTES = 100_000_000


# region: connection
class EventConnection:
    """The way to one endpoint that streams. Use it in one event loop, and close it there.

    `timeout` is for a whole reply, however lively it is; `idle` for the time without any byte, of
    which pings count; `connect_timeout` for reaching the server; all in seconds. Raises ConfigError
    if the key or the address cannot be used at all. `transport` takes the place of the network,
    `headers` are sent with every request.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        open_client: OpenClient,
        *,
        timeout: float = 300.0,
        idle: float = 120.0,
        connect_timeout: float = 10.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        endpoint.check()
        self.endpoint = endpoint
        self._open_client = open_client
        self._limits = Limits(timeout, idle, connect_timeout)
        self._transport = transport
        self._headers = dict(headers or {})
        self._sdk: Sdk | None = None

    @asynccontextmanager
    async def stream(self, content: bytes) -> AsyncGenerator[AsyncIterator[Json], None]:
        """The events of the answer, as JSON objects; leaving the context hangs up.

        They come from the stream of the client and past its helpers, which make up what is missing.
        Raises ProviderError, also in the middle, for whatever is no event of an answer.
        """
        sdk = self._sdk = self._sdk or self._open()
        until = asyncio.get_running_loop().time() + self._limits.whole
        opened = await self._begin(sdk, content, until)
        events = self._events(sdk, opened, until)
        try:
            yield events
        finally:
            await events.aclose()
            await opened.close()

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.client.close()

    async def _begin(self, sdk: Sdk, content: bytes, until: float) -> Any:
        """The client's stream, if the answer is one."""
        import httpx2

        from chapters.ch05.streaming_client import is_events

        silence = httpx2.Timeout(None, connect=self._limits.connect, read=self._limits.idle)
        failure: ProviderError | None
        try:
            async with asyncio.timeout_at(until):
                opened = await sdk.client.post(
                    self.endpoint.path,
                    content=content,
                    cast_to=object,
                    stream=True,
                    stream_cls=sdk.package.AsyncStream[object],
                    options={"headers": self._headers, "timeout": silence},
                )
                answer = opened.response
                if is_events(answer):
                    return opened
                page = await answer.aread()
            kind = answer.headers.get("content-type", "")
            failure = no_stream(self.endpoint, answer.status_code, kind, page)
        except Exception as error:
            failure = failure_of(self.endpoint, sdk, error, self._limits)
            if failure is None:
                raise
        # Raised out here, so that no exception of the SDK, with the request and its key, hangs on.
        raise failure

    async def _events(self, sdk: Sdk, opened: Any, until: float) -> AsyncGenerator[Json, None]:
        """What the client reads from the stream, and its exceptions as ours."""
        failure: ProviderError | None = None
        arriving = aiter(opened)
        count = 0
        while failure is None:
            try:
                async with asyncio.timeout_at(until):
                    event = await anext(arriving)
            except StopAsyncIteration:
                break
            except Exception as error:
                failure = failure_of(self.endpoint, sdk, error, self._limits)
                if failure is None:
                    raise
            else:
                if event is None:  # which says nothing
                    continue
                if not isinstance(event, dict):
                    failure = unreadable_event(self.endpoint, "an event of it is no JSON object")
                    break
                count += 1
                yield event
        if failure is None and not count:
            body = opened.response.stream
            failure = no_event(self.endpoint, opened.response.status_code, body.beginning)
        if failure is not None:
            raise failure

    def _open(self) -> Sdk:
        import httpx2

        from chapters.ch05.streaming_client import StreamingClient

        below = StreamingClient(
            max_bytes=MAX_ANSWER_BYTES, max_stream=MAX_STREAM_BYTES, transport=self._transport
        )
        try:
            return self._open_client(self.endpoint, self._limits.connect, below)
        except httpx2.InvalidURL:
            raise not_an_address(self.endpoint.url_variable) from None


# endregion: connection
