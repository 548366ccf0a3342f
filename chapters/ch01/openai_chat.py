"""The live model: OpenAI Chat Completions, spoken by OpenAI and by every compatible server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Self
from uuid import uuid4

from chapters.ch01.chat_wire import FINISH_CHARACTERS, UnreadableReply, from_wire, to_body
from chapters.ch01.connection import Connection, openai_client
from chapters.ch01.endpoint import SECRET_CHARACTERS, Endpoint
from chapters.ch01.provider_errors import error_in, error_inside, unreadable
from shared.events import Emit
from shared.messages import AssistantMessage, Request

MINTED = re.compile(r"call_[0-9a-f]{24}")


def mint_id() -> str:
    """A call id that nobody has used; it matches MINTED."""
    return f"call_{uuid4().hex[:24]}"


def shown_finish(endpoint: Endpoint, finish: str) -> str:
    """Why a reply ended, for messages and histories: it may hold anything, also the key."""
    cut_key = len(finish) == FINISH_CHARACTERS and endpoint.api_key[:SECRET_CHARACTERS] in finish
    return "[key]" if cut_key else endpoint.quote(finish)


# region: adapter
class OpenAIChat:
    """A model behind an OpenAI-compatible address. Use it in one event loop, and close it there.

    `timeout` is for a whole request, `connect_timeout` for reaching the server, both in seconds.
    Raises ConfigError if the key or the address cannot be used at all, ProviderError for a request
    that brought no reply; their messages name the settings, which begin with `prefix`. Nothing is
    sent twice: retrying is a model layer's business.
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
        prefix: str = "WORKBOOK_",
    ) -> None:
        self._endpoint = Endpoint(base_url.strip(), api_key.strip(), model, prefix=prefix)
        self._connection = Connection(
            self._endpoint, openai_client, timeout=timeout, connect_timeout=connect_timeout
        )
        self._new_id = new_id

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply, or ProviderError."""
        asked = json.dumps(to_body(request, self._endpoint.model), ensure_ascii=False)
        status, content = await self._connection.post(asked.encode())
        taken = [
            call.id
            for message in request.messages
            if isinstance(message, AssistantMessage)
            for call in message.calls
        ]
        try:
            body = json.loads(content)
            if error := error_in(body):
                raise error_inside(self._endpoint, status, error)
            reply = from_wire(body, taken, self._new_id)
            return replace(reply, finish=shown_finish(self._endpoint, reply.finish))
        except UnreadableReply as problem:
            reason = str(problem)
        except (ValueError, RecursionError):
            reason = "it is not JSON"
        raise unreadable(self._endpoint, status, content, reason)

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


# endregion: adapter
