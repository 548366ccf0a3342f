"""The HTTP client below the SDK for an answer that is read while it arrives.

Imported when the first request is sent: it takes as long to load as the SDK does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2

from chapters.ch01.bounded_client import PlainClient

EVENTS = "text/event-stream"
SHOWN_BYTES = 1_000  # of an answer that turns out to be something else
MARK = "\ufeff".encode()  # a byte order mark, which some programs put before every text


def is_events(response: httpx2.Response) -> bool:
    """Whether an answer says that all is well and that it comes as events."""
    kind = str(response.headers.get("content-type", "")).partition(";")[0].strip().lower()
    return response.is_success and kind == EVENTS


class TooLong(Exception):
    """The body of an answer was longer than `limit` bytes, and the rest of it was not read."""

    def __init__(self, status: int, limit: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.limit = limit


class NotText(ValueError):
    """There is a NUL in a stream of events. No event has one, and a reader may drop a line."""


class Packed(Exception):
    """The body of an answer is compressed, though the request asks for one that is not."""

    def __init__(self, status: int, encoding: str) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status
        self.encoding = encoding


# region: bounded
class StreamingClient(PlainClient):
    """A client that follows no redirect and lets a body through as it comes, up to a limit.

    A stream of events may have `max_stream` bytes; a line of it, or any other body, `max_bytes`, as
    so much is kept at a time. Answers have to come unpacked: what packs a stream holds pieces back
    until it has enough of them, and a few kilobytes can unpack to gigabytes at once, before anybody
    could count.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        max_stream: int,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(transport=transport)
        self._max_bytes = max_bytes
        self._max_stream = max_stream

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The answer, its body unread. Raises Packed."""
        request.headers["accept-encoding"] = "identity"
        response = await super().send(request, **{**options, "stream": True})
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding not in ("identity", ""):
            await response.aclose()
            raise Packed(response.status_code, encoding)
        limit = self._max_stream if is_events(response) else self._max_bytes
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = BoundedStream(
            response.stream, limit, self._max_bytes, response.status_code
        )
        if is_events(response):
            response.stream.events = True
        return response


class BoundedStream(httpx2.AsyncByteStream):
    """A body that ends with TooLong if it has more than `limit` bytes, or a line has `line` bytes.

    `beginning` holds its first bytes, to be shown if it is not what it should be. A body of
    `events` is handed on without a byte order mark, which would cost its first line. Raises NotText
    for a NUL in it.
    """

    def __init__(self, body: httpx2.AsyncByteStream, limit: int, line: int, status: int) -> None:
        self._body = body
        self._limit = limit
        self._line = line
        self._status = status
        self._read = self._since_break = 0
        self.beginning = b""
        self.events = False
        self._unmarked: bytes | None = b""  # first bytes that may be a mark; None behind them

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._body:
            if len(self.beginning) < SHOWN_BYTES:
                self.beginning += piece[:SHOWN_BYTES]
            self._read += len(piece)
            behind = len(piece) - piece.rfind(b"\n") - 1
            self._since_break = behind + (self._since_break if behind == len(piece) else 0)
            for size, limit in ((self._read, self._limit), (self._since_break, self._line)):
                if size > limit:
                    await self.aclose()
                    raise TooLong(self._status, limit)
            if self.events:
                if b"\0" in piece:
                    await self.aclose()
                    raise NotText("a NUL")
                if self._unmarked is not None:
                    piece = self._without_mark(piece)
            yield piece
        if self._unmarked:
            yield self._unmarked

    def _without_mark(self, piece: bytes) -> bytes:
        """What can be handed on of the first bytes."""
        begun = (self._unmarked or b"") + piece
        waiting = len(begun) < len(MARK) and MARK.startswith(begun)
        self._unmarked = begun if waiting else None
        return b"" if waiting else begun.removeprefix(MARK)

    async def aclose(self) -> None:
        """Hang up."""
        await self._body.aclose()


# endregion: bounded
