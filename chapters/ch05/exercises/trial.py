"""What the tests of these exercises share: replies that arrive in pieces, with and without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from chapters.ch04.adapters import Access
from chapters.ch04.provider import Provider
from chapters.ch05.adapters import open_streaming_model
from chapters.ch05.streaming import StreamingModel
from shared.events import (
    Emit,
    ReplyEnded,
    ReplyStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.history import History
from shared.messages import AssistantMessage, Request, Text, ToolCall
from shared.provider_server import ProviderServer

Said = AssistantMessage | tuple[AssistantMessage, BaseException]


def pieces_of(reply: AssistantMessage, step: int) -> Iterator[StreamEvent]:
    """What a listener is told of a reply until it ends, `step` characters at a time."""
    yield ReplyStarted()
    for number, part in enumerate(reply.content):
        said = part.arguments if isinstance(part, ToolCall) else part.text
        cut = [said[start : start + step] for start in range(0, len(said), step)]
        if isinstance(part, ToolCall):
            yield ToolCallStarted(number, part.id, part.name)
            yield from [ToolCallDelta(number, piece) for piece in cut]
            yield ToolCallEnded(number, part)
        elif isinstance(part, Text):
            yield TextStarted(number)
            yield from [TextDelta(number, piece) for piece in cut]
            yield TextEnded(number, said)
        else:
            yield ThinkingStarted(number)
            yield from [ThinkingDelta(number, piece) for piece in cut]
            yield ThinkingEnded(number, said)


class StreamedModel:
    """A model whose replies arrive in pieces: those of its script, one after the other.

    With an error, a reply breaks off behind its last piece: its parts were told, it was not.
    """

    def __init__(self, *script: Said, step: int = 4) -> None:
        self.requests: list[Request] = []
        self._script: Sequence[Said] = script
        self._step = step

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """The next reply, or its error."""
        History(request.messages).check_ready()
        self.requests.append(request)
        assert len(self.requests) <= len(self._script), "a request that the script does not foresee"
        said = self._script[len(self.requests) - 1]
        reply, failure = said if isinstance(said, tuple) else (said, None)
        try:
            for event in pieces_of(reply, self._step):
                emit(event)
                await asyncio.sleep(0)  # others get their turn, as they do between two packets
            if failure is not None:
                raise failure
        except BaseException as error:
            emit(ReplyEnded(None, error))
            raise
        emit(ReplyEnded(reply, None))
        return reply


def streaming_model(server: ProviderServer, provider: Provider) -> StreamingModel:
    """The chapter's model, whose provider is a server here."""
    import httpx2

    access = Access(server.base_url.removesuffix("/v1"), "a-key", f"model-of-{provider.name}")
    # Nothing is encrypted on the way to 127.0.0.1, and loading certificates would take time.
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return open_streaming_model(provider, access, transport=transport)
