"""The HTTP client below Google's: it sends a body that was made beforehand, and keeps the answer.

Imported when the first request is sent: it takes as long to load as the SDK does.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2

from chapters.ch01.bounded_client import OF_THE_BODY, BoundedClient


@dataclass(slots=True)
class Exchange:
    """The body of one request, and the answer to it as soon as there is one."""

    content: bytes
    answer: httpx2.Response | None = None


EXCHANGE: ContextVar[Exchange] = ContextVar("exchange")
"""The exchange that the running task waits for. Other tasks of the same client have their own."""


# region: prepared
class PreparedClient(BoundedClient):
    """Sends the content of EXCHANGE in place of the body that it is given.

    Address and headers stay those of the SDK. `connect_timeout`, in seconds, is the only time-out.
    """

    def __init__(
        self,
        *,
        max_bytes: int,
        connect_timeout: float,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(max_bytes=max_bytes, transport=transport)
        self._timeouts = httpx2.Timeout(None, connect=connect_timeout).as_dict()

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """The whole answer to the prepared body, or AnswerTooLarge."""
        exchange = EXCHANGE.get()
        asked = prepared(request, exchange.content, self._timeouts)
        exchange.answer = await super().send(asked, **options)
        return exchange.answer


def prepared(
    request: httpx2.Request, content: bytes, timeouts: dict[str, float | None]
) -> httpx2.Request:
    """The request with another body, and with these time-outs in seconds."""
    headers = [
        (name, value)
        for name, value in request.headers.multi_items()
        if name.lower() not in OF_THE_BODY
    ]
    return httpx2.Request(
        request.method,
        request.url,
        headers=headers,
        content=content,
        extensions={**request.extensions, "timeout": timeouts},
    )


# endregion: prepared
