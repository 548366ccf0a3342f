"""A model behind a provider's own client: encode, post, read. All else is in pure functions."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, Self

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.openai_chat import mint_id, shown_finish
from chapters.ch01.provider_errors import error_in, error_inside, unreadable
from chapters.ch04.encoder import Encoder
from chapters.ch04.provider import Target
from chapters.ch04.wire import Wire, finish
from shared.errors import PairingError
from shared.events import Emit
from shared.messages import AssistantMessage, Request


class Poster(Protocol):
    """One request to a provider: bytes out, status and bytes back."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it goes, and how to speak of it."""
        ...

    async def post(self, content: bytes) -> tuple[int, bytes]:
        """Status and body of the answer. Raises ProviderError if there is none."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


NOTHING_TO_SEND = "there is nothing for the model to reply to: send a message first"


# region: live
class ProviderModel:
    """Any provider as a `Model`. Use it in one event loop, and close it there.

    Raises ProviderError for a request that brought no reply. Nothing is sent twice: retrying is a
    model layer's business.
    """

    def __init__(
        self,
        target: Target,
        wire: Wire,
        connection: Poster,
        *,
        new_id: Callable[[], str] = mint_id,
    ) -> None:
        self._target = target
        self._wire = wire
        self._connection = connection
        self._encoder = Encoder(wire, target)
        self._new_id = new_id

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply, or ProviderError."""
        asked = self._encoder.body(request)
        if self._encoder.empty:
            raise PairingError(NOTHING_TO_SEND)
        status, content = await self._connection.post(asked)
        endpoint = self._connection.endpoint
        try:
            body = json.loads(content)
            if error := error_in(body):
                raise error_inside(endpoint, status, error)
            reply = self._wire.reply(body, self._target)
            reply = replace(reply, finish=shown_finish(endpoint, reply.finish))
        except UnreadableReply as problem:
            reason = str(problem)
        except (ValueError, RecursionError):
            reason = "it is not JSON"
        else:
            return finish(reply, self._target, request.tools, self._encoder.taken, self._new_id)
        raise unreadable(endpoint, status, content, reason)

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


# endregion: live
