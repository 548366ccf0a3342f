"""The HTTP client below the SDK: it goes where it was told, and it reads no endless answer.

Imported when the first request is sent: it takes as long to load as the SDK does.
"""

from __future__ import annotations

from typing import Any

import httpx2

from chapters.ch01.connection_errors import no_client

# They tell how the body came, and it is kept unpacked.
OF_THE_BODY = ("content-encoding", "content-length", "transfer-encoding")


class AnswerTooLarge(Exception):
    """The body of an answer was longer than allowed, and the rest of it was not read."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class PlainClient(httpx2.AsyncClient):
    """A client that follows no redirect.

    Raises ConfigError if the environment names a proxy or certificates that cannot be used.
    """

    def __init__(self, *, transport: httpx2.AsyncBaseTransport | None = None) -> None:
        try:
            super().__init__(follow_redirects=False, transport=transport)
        except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
            raise no_client(error) from None


# region: bounded
class BoundedClient(PlainClient):
    """A client that follows no redirect and keeps at most `max_bytes` of a body, unpacked.

    A few kilobytes can unpack to gigabytes, so it is the unpacked bytes that count. The limit
    stands here because the SDK reads the body of an error whole, whichever way it is called.
    """

    def __init__(
        self, *, max_bytes: int, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        super().__init__(transport=transport)
        self._max_bytes = max_bytes

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The whole answer, or AnswerTooLarge."""
        response = await super().send(request, **{**options, "stream": True})
        try:
            content = bytearray()
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > self._max_bytes:
                    raise AnswerTooLarge(response.status_code)
        finally:
            await response.aclose()
        headers = [
            # A charset is the server's word for how to read the body, and it may be any of Python's
            # codecs: one that fails, one that unpacks. What answers like this is UTF-8.
            (name, value.partition(b";")[0] if name.lower() == b"content-type" else value)
            for name, value in response.headers.raw  # bytes: not all that is sent is ASCII
            if name.lower().decode("latin-1") not in OF_THE_BODY
        ]
        return httpx2.Response(
            response.status_code, headers=headers, content=bytes(content), request=request
        )


# endregion: bounded
