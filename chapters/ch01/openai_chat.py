"""The live model: OpenAI Chat Completions, spoken by OpenAI and by every compatible server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from chapters.ch01.chat_wire import UnreadableReply, from_wire, to_body
from chapters.ch01.connection_errors import too_far, too_slow, unreachable
from chapters.ch01.endpoint import Endpoint, not_an_address
from chapters.ch01.provider_errors import (
    error_inside,
    redirected,
    refused,
    too_large,
    unreadable,
)
from shared.errors import ProviderError
from shared.events import Emit
from shared.messages import AssistantMessage, Request

if TYPE_CHECKING:  # half a second to load, so only when a request is sent
    from openai import AsyncOpenAI


# The longest reply of a model is far below one megabyte.
MAX_ANSWER_BYTES = 20_000_000


def mint_id() -> str:
    """A call id that nobody has used."""
    return f"call_{uuid4().hex[:24]}"


# region: adapter
class OpenAIChat:
    """A model behind an OpenAI-compatible address. Use it in one event loop, and close it there.

    `timeout` is for a whole request, `connect_timeout` for reaching the server, both in seconds.
    Raises ConfigError if the key or the address cannot be used at all, ProviderError for a request
    that brought no reply. Nothing is sent twice: retrying is a model layer's business.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        timeout: float = 300.0,
        connect_timeout: float = 10.0,
        new_id: Callable[[], str] = mint_id,
    ) -> None:
        self._endpoint = Endpoint(base_url.strip(), api_key.strip(), model)
        self._endpoint.check()
        self._timeout = timeout
        self._connect_timeout = connect_timeout
        self._new_id = new_id
        self._client: AsyncOpenAI | None = None

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply, or ProviderError."""
        status, content = await self._post(to_body(request, self._endpoint.model))
        taken = [
            call.id
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        ]
        try:
            body = json.loads(content)
            if isinstance(body, dict) and body.get("error"):
                raise error_inside(self._endpoint, status, body["error"])
            return from_wire(body, taken, self._new_id)
        except UnreadableReply as problem:
            reason = str(problem)
        except (ValueError, RecursionError):
            reason = "it is not JSON"
        raise unreadable(self._endpoint, status, content, reason)

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _post(self, body: dict[str, Any]) -> tuple[int, bytes]:
        """Status and body of the answer, unread: the SDK checks neither shape nor type of it."""
        import openai

        from chapters.ch01.bounded_client import AnswerTooLarge

        client = self._client = self._client or self._open()
        create = client.chat.completions.with_raw_response.create
        failure: ProviderError
        try:
            async with asyncio.timeout(self._timeout):
                raw = await create(**body)
                return raw.http_response.status_code, raw.http_response.content
        except TimeoutError:
            failure = too_slow(self._endpoint, self._timeout)
        except openai.APITimeoutError:  # every other time-out of the client is off, see _open
            failure = too_far(self._endpoint, self._connect_timeout)
        except AnswerTooLarge as error:
            failure = too_large(self._endpoint, error.status, MAX_ANSWER_BYTES)
        except openai.APIStatusError as error:
            headers = error.response.headers
            if error.response.has_redirect_location:
                failure = redirected(self._endpoint, error.status_code, headers["location"])
            else:
                wait = headers.get("retry-after", "")
                failure = refused(self._endpoint, error.status_code, error.body, wait)
        except openai.APIConnectionError as error:
            failure = unreachable(self._endpoint, error)
        # Raised out here, so that no exception of the SDK, with the request and its key, hangs on.
        raise failure

    def _open(self) -> AsyncOpenAI:
        import httpx2
        import openai

        from chapters.ch01.bounded_client import BoundedClient

        try:
            client = openai.AsyncOpenAI(
                base_url=self._endpoint.base_url,
                api_key=self._endpoint.api_key,
                max_retries=0,
                timeout=openai.Timeout(None, connect=self._connect_timeout),
                http_client=BoundedClient(max_bytes=MAX_ANSWER_BYTES),
            )
        except httpx2.InvalidURL:
            raise not_an_address() from None
        # The SDK fills these from OPENAI_* variables, whoever the provider is.
        client.organization = client.project = None
        return client


# endregion: adapter
