"""A model whose reply is seen while it arrives, and used when it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Protocol, Self

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.openai_chat import mint_id, shown_finish
from chapters.ch01.provider_errors import error_inside, error_object
from chapters.ch04.encoder import Encoder
from chapters.ch04.live import NOTHING_TO_SEND
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json, finish
from chapters.ch05.accumulator import Accumulator, ReportedError, StreamWire
from chapters.ch05.stream_errors import incomplete, unreadable_event
from shared.errors import PairingError, ProviderError
from shared.events import Emit, ReplyEnded, ReplyStarted
from shared.messages import AssistantMessage, Request


class EventSource(Protocol):
    """One request to a provider whose answer comes as events."""

    @property
    def endpoint(self) -> Endpoint:
        """Where it goes, and how to speak of it."""
        ...

    def stream(self, content: bytes) -> AbstractAsyncContextManager[AsyncIterator[Json]]:
        """The events of the answer, as JSON objects; leaving the context hangs up.

        Raises ProviderError, also in the middle, for whatever is no event of an answer.
        """
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


# region: until_over
class UntilOver:
    """The events of an answer, until there are no more, or until the reply has ended and the rest
    of its time is over. What happens to the connection in that time is no matter."""

    def __init__(self, events: AsyncIterator[Json], arriving: Accumulator) -> None:
        self._events = events
        self._arriving = arriving
        self._until: float | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Json:
        rest = self._arriving.rest
        if rest is None:
            self._until = None
            return await anext(self._events)
        self._until = self._until or asyncio.get_running_loop().time() + rest
        try:
            async with asyncio.timeout_at(self._until):
                return await anext(self._events)
        except TimeoutError:
            raise StopAsyncIteration from None
        except ProviderError as error:
            if error.kind not in ("connection", "timeout"):
                raise
            raise StopAsyncIteration from None


# endregion: until_over


# region: streaming
class StreamingModel:
    """Any provider as a `Model` whose reply arrives in pieces.

    The pieces go to `emit`, for a person to see. What `reply` returns is the whole message, so the
    loop is none the wiser. A reply that does not end as one is an error and nothing of it is
    returned: nothing of it can run.

    When the provider has said all, the reply is whole: a connection that breaks then, or stays
    open, takes nothing away from it. What still comes within a moment is listened to, so that the
    connection can be used again, and an error among it counts.
    """

    def __init__(
        self,
        target: Target,
        streamed: StreamWire,
        connection: EventSource,
        *,
        new_id: Callable[[], str] = mint_id,
    ) -> None:
        self._target = target
        self._streamed = streamed
        self._connection = connection
        wire = streamed.wire
        asked = replace(
            wire,
            fields=lambda request, target: {
                **wire.fields(request, target),
                **streamed.fields(request, target),
            },
        )
        self._encoder = Encoder(asked, target)
        self._new_id = new_id

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply, or ProviderError."""
        limit = self._target.provider.name_limit
        offered = frozenset(wire_name(spec.name, limit) for spec in request.tools)
        arriving = self._streamed.accumulator(offered)
        try:
            asked = self._encoder.body(request)
            if self._encoder.empty:
                raise PairingError(NOTHING_TO_SEND)
            read = await self._receive(asked, arriving, emit)
            read = replace(read, finish=shown_finish(self._connection.endpoint, read.finish))
            reply = finish(read, self._target, request.tools, self._encoder.taken, self._new_id)
        except BaseException as error:
            emit(ReplyEnded(None, error))
            raise
        emit(ReplyEnded(reply, None))
        return reply

    # region: receive
    async def _receive(self, asked: bytes, arriving: Accumulator, emit: Emit) -> AssistantMessage:
        """The whole answer, put together and read."""
        endpoint = self._connection.endpoint
        begun = False
        try:
            async with self._connection.stream(asked) as events:
                async for event in UntilOver(events, arriving):
                    if not begun:
                        begun = True
                        emit(ReplyStarted())
                    for told in arriving.feed(event):
                        emit(told)
            if not begun or (not arriving.finished and self._target.provider.finish_required):
                raise incomplete(endpoint, begun)
            for told in arriving.end():
                emit(told)
            return self._streamed.wire.reply(arriving.answer(), self._target)
        except ReportedError as reported:
            failure = error_inside(endpoint, 200, error_object(reported.body))
        except UnreadableReply as problem:
            failure = unreadable_event(endpoint, str(problem))
        except RecursionError:
            failure = unreadable_event(endpoint, "it is nested too deeply")
        raise failure

    # endregion: receive

    async def aclose(self) -> None:
        """Close the connections. The next request opens new ones."""
        await self._connection.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


# endregion: streaming
