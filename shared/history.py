"""The history of a conversation: append-only, and every call in it is answered exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import overload

from shared.errors import PairingError
from shared.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage


class History:
    """What was said so far: it grows at the end, never changes, and refuses what would break it.

    Pairing rule: after a reply with calls come their results, one per call, each id once, before
    anything else. It is checked as the history grows, so the cost of a turn does not depend on how
    many came before.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages: list[Message] = []
        self._open: dict[str, ToolCall] = {}
        self._answered: set[str] = set()
        for message in messages:
            self.append(message)

    def append(self, message: Message) -> None:
        """Add one message. Raises PairingError, and adds nothing, if it does not belong here."""
        if isinstance(message, ToolResult):
            self._settle(message)
        else:
            self.check_answered()
            self._open = self._calls_by_id(message)
            self._answered = set()
        self._messages.append(message)

    def answer_open_calls(self, code: str, message: str) -> list[ToolResult]:
        """Give every call that has no result yet a failure, so that the history stays whole."""
        results = [ToolResult.failure(call, code, message) for call in self._open.values()]
        for result in results:
            self.append(result)
        return results

    def check_answered(self) -> None:
        """Raise PairingError if a call still waits for its result."""
        if self._open:
            raise PairingError(f"tool call {next(iter(self._open))!r} has no result")

    def check_ready(self) -> None:
        """Raise PairingError unless the model has something to reply to."""
        self.check_answered()
        if not self._messages or isinstance(self._messages[-1], AssistantMessage):
            raise PairingError("there is nothing for the model to reply to: send a message first")

    def view(self) -> HistoryView:
        """The history as it is now. Costs nothing: what is appended later does not show in it."""
        return HistoryView(self._messages, len(self._messages))

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(self.view())

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        return self._messages[index]

    def _settle(self, result: ToolResult) -> None:
        if result.call_id in self._answered:
            raise PairingError(f"tool call {result.call_id!r} was answered twice")
        if result.call_id not in self._open:
            raise PairingError(f"result for {result.call_id!r}, but no such call is open")
        del self._open[result.call_id]
        self._answered.add(result.call_id)

    @staticmethod
    def _calls_by_id(message: UserMessage | AssistantMessage) -> dict[str, ToolCall]:
        if isinstance(message, UserMessage):
            return {}
        calls: dict[str, ToolCall] = {}
        for call in message.calls:
            if not call.id:
                raise PairingError(f"a call to {call.name!r} has no id")
            if call.id in calls:
                raise PairingError(f"two calls of one reply share the id {call.id!r}")
            calls[call.id] = call
        return calls


class HistoryView(Sequence[Message]):
    """The first `length` messages of an append-only list: a snapshot without a copy."""

    __slots__ = ("_length", "_messages")

    def __init__(self, messages: list[Message], length: int) -> None:
        self._messages = messages
        self._length = length

    def continues(self, earlier: Sequence[Message]) -> bool:
        """True if this is `earlier` grown: the same history, seen later. Costs nothing."""
        return (
            isinstance(earlier, HistoryView)
            and earlier._messages is self._messages
            and earlier._length <= self._length
        )

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Message]:
        return islice(self._messages, self._length)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        if isinstance(index, slice):
            return [self._messages[i] for i in range(*index.indices(self._length))]
        return self._messages[range(self._length)[index]]
