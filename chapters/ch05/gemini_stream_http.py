"""The HTTP client below Google's for an answer that is read while it arrives.

Imported when the first request is sent: it takes as long to load as the SDK does.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx2

from chapters.ch04.gemini_http import EXCHANGE, Exchange, prepared
from chapters.ch04.wire import Json
from chapters.ch05.streaming_client import BoundedStream, StreamingClient, is_events

DATA = b"data: "  # with the blank: the SDK takes nothing else


@dataclass(slots=True)
class StreamedExchange(Exchange):
    """The body of a request, the answer to it, and the event that the SDK is given right now."""

    event: Json | None = None


# region: watched
class WatchedClient(StreamingClient):
    """Sends the content of EXCHANGE, and keeps each event of the answer as it came.

    The SDK turns every event into objects, and only into those that it knows: that takes most of
    the time, drops what is new and fails at what is odd. So it gets an empty event for each. It
    still finds the address, signs the request, reads the stream and tells what is no event.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        max_stream: int,
        timeout: httpx2.Timeout,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(max_bytes=max_bytes, max_stream=max_stream, transport=transport)
        self._timeouts = timeout.as_dict()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The answer to the prepared body; its own body is unread if it is a stream of events."""
        exchange = EXCHANGE.get()
        assert isinstance(exchange, StreamedExchange)
        answer = await super().send(prepared(request, exchange.content, self._timeouts), **options)
        if is_events(answer):
            assert isinstance(answer.stream, BoundedStream)
            answer.stream = WatchedStream(answer.stream, exchange)
        else:
            await answer.aread()
        exchange.answer = answer
        return answer


class WatchedStream(httpx2.AsyncByteStream):
    """A body that hands out one event at a time, and keeps what is in it.

    `begun` tells whether there was one so far.
    """

    def __init__(self, body: BoundedStream, exchange: StreamedExchange) -> None:
        self._body = body
        self._exchange = exchange
        self.begun = False

    @property
    def beginning(self) -> bytes:
        """The first bytes, to be shown if they are no events."""
        return self._body.beginning

    async def __aiter__(self) -> AsyncIterator[bytes]:
        event: list[bytes] = []
        rest = bytearray()  # of the last line, which may come in many pieces
        async for piece in self._body:
            *lines, end = piece.split(b"\n")
            for line in lines:
                rest += line
                if rest.rstrip(b"\r"):
                    event.append(bytes(rest))
                elif event:
                    yield self._hand_out(event)
                    event = []
                rest.clear()
            rest += end
        if rest or event:
            yield self._hand_out([*event, bytes(rest)])

    def _hand_out(self, lines: list[bytes]) -> bytes:
        self._exchange.event = event = parsed(lines)
        self.begun = self.begun or event is not None
        if event is None or event.get("error"):
            return b"\n".join([*lines, b"", b""])  # for the SDK to say what is wrong with it
        return DATA + b"{}\n\n"

    async def aclose(self) -> None:
        """Hang up."""
        await self._body.aclose()


def parsed(lines: list[bytes]) -> Json | None:
    """The object in an event; None if it holds something else."""
    if not all(line.startswith(DATA) for line in lines if line):
        return None
    try:
        event = json.loads(b"\n".join([line.removeprefix(DATA) for line in lines]).decode())
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


# endregion: watched
