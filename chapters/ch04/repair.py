"""A history as one provider takes it: whole, in order, with legal ids. What was said is untouched.

    repair(history, target)     a new list; calling it again changes nothing

Histories come from more than one place: a loop that keeps them whole, a file that was written when
the power failed, another provider, a program that cut away the beginning. Every request goes
through here, so that no adapter has to expect the worst.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from chapters.ch01.chat_wire import clean, legal_arguments
from chapters.ch04.names_and_ids import CallIds, wire_name
from chapters.ch04.provider import Target
from chapters.ch04.signatures import Signatures
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

SENT_BACK = frozenset({StopReason.END_TURN, StopReason.TOOL_USE, StopReason.MAX_TOKENS})
"""How a reply may have ended that a model shall see again. Half a reply is none."""

INTERRUPTED = ("interrupted", "There is no result: the run was stopped before this call ended.")
BEGINNING_IS_MISSING = "(The beginning of this conversation is missing.)"
NO_IMAGE = "(image omitted: model does not support images)"
NO_RESULT_IMAGE = "(tool image omitted: model does not support images)"


# region: repair_function
def repair(history: Iterable[Message], target: Target) -> list[Message]:
    """The history as `target` takes it. Pure: the messages that come in are not changed.

    Every call is answered exactly once, by the results right behind it; results without a call are
    gone; ids and names are legal; no text that may not be blank is; thinking stands only where it
    came from. Half replies are left out. Repairing the outcome again changes nothing.
    """
    return [message for group in groups(history, target) for message in group.messages]


# endregion: repair_function


# region: group
@dataclass(frozen=True, slots=True)
class Group:
    """Messages that belong together on the wire: one of a person, one reply, or its results."""

    messages: tuple[Message, ...]
    after_results: bool = False  # what is sent before it ends in the results of a reply


# endregion: group


def groups(history: Iterable[Message], target: Target) -> Iterator[Group]:
    """The repaired history in groups."""
    under_way = Repair(target)
    for message in history:
        yield from under_way.feed(message)
    yield from under_way.rest()


@dataclass(slots=True)
class _Open:
    """A call that waits for its result: its id in our history, itself as it is sent."""

    call_id: str
    call: ToolCall
    result: ToolResult | None = None


# region: repair
class Repair:
    """Repairs a history as it grows: each message goes in once, finished groups come out.

    What has come out never changes, so it can be encoded and kept.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._ids = CallIds(target.provider.ids)
        self._open: list[_Open] = []
        self._unanswered: dict[str, deque[_Open]] = {}  # of the open round, by their ids
        self._waiting: list[UserMessage] = []
        self._begun = False
        self._after_results = False
        self._signatures = Signatures(target.provider.api)

    def feed(self, message: Message) -> list[Group]:
        """The groups that `message` completes."""
        match message:
            case ToolResult():
                return self._settle(message)
            case UserMessage():
                return self._hear(message)
            case AssistantMessage():
                return self._reply(message)

    def rest(self) -> list[Group]:
        """What is left if nothing more comes. Changes nothing, so more may come after all."""
        if not self._open:
            return []
        done = self._results_group()
        after = self._ends_in_results(done)
        return [done, *(Group((said,), after and not i) for i, said in enumerate(self._waiting))]

    def _reply(self, message: AssistantMessage) -> list[Group]:
        if message.stop not in SENT_BACK:
            return []
        reply = self._repaired(message)
        if reply is None:
            return []
        done = self._close()
        ids = [call.id for call in message.calls]
        self._open = [_Open(*pair) for pair in zip(ids, reply.calls, strict=True)]
        for one in self._open:
            self._unanswered.setdefault(one.call_id, deque()).append(one)
        return done + self._grouped(reply)

    def _hear(self, message: UserMessage) -> list[Group]:
        said = said_to(message, self._target)
        if said is None:
            return []
        if self._open:  # nothing may stand between a call and its result
            self._waiting.append(said)
            return []
        return self._grouped(said)

    def _settle(self, result: ToolResult) -> list[Group]:
        waiting = self._unanswered.get(result.call_id)
        if not waiting:
            return []
        one = waiting.popleft()
        one.result = result_of(one.call, result, self._target)
        if not waiting:
            del self._unanswered[result.call_id]
        return [] if self._unanswered else self._close()

    def _close(self) -> list[Group]:
        """End the round that is open: the results, then what was said meanwhile."""
        if not self._open:
            return []
        done, waiting = [self._results_group()], self._waiting
        self._open, self._waiting, self._unanswered = [], [], {}
        self._after_results = self._ends_in_results(done[0])
        for said in waiting:
            done += self._grouped(said)
        return done

    def _results_group(self) -> Group:
        results = [one.result or ToolResult.failure(one.call, *INTERRUPTED) for one in self._open]
        return Group(tuple(results))

    def _ends_in_results(self, group: Group) -> bool:
        """Pictures that cannot stand in a result follow it in a user message."""
        shown = [one for one in group.messages if isinstance(one, ToolResult) and one.images]
        return self._target.provider.result_images or not shown

    def _grouped(self, message: UserMessage | AssistantMessage) -> list[Group]:
        first = []
        if not self._begun and isinstance(message, AssistantMessage):
            first = [Group((UserMessage(BEGINNING_IS_MISSING),))]
        self._begun = True
        group = Group((message,), self._after_results)
        self._after_results = False
        return [*first, group]

    def _repaired(self, message: AssistantMessage) -> AssistantMessage | None:
        at_home = message.origin == self._target.origin
        content: list[Text | Thinking | ToolCall] = []
        for part in self._signatures.sendable(message) if at_home else message.content:
            signature = part.signature if at_home else ""
            match part:
                case Text() if part.text.strip() or signature:
                    content.append(Text(clean(part.text), signature))
                case Thinking() if at_home and (part.text.strip() or part.signature):
                    content.append(replace(part, text=clean(part.text)))
                case ToolCall():
                    content.append(self._call(part, signature))
        if all(isinstance(part, Thinking) for part in content):
            return None
        return replace(message, content=tuple(content))

    def _call(self, call: ToolCall, signature: str) -> ToolCall:
        return ToolCall(
            self._ids.assign(clean(call.id)),
            wire_name(clean(call.name), self._target.provider.name_limit),
            legal_arguments(call.arguments),
            signature,
        )


# endregion: repair


def said_to(message: UserMessage, target: Target) -> UserMessage | None:
    """What a person said as `target` takes it, or None if nothing is left of it."""
    provider = target.provider
    if isinstance(message.content, str):
        text = clean(message.content)
        return UserMessage(text) if text.strip() or provider.blank_text else None
    content: list[Text | Image] = []
    for part in message.content:
        if isinstance(part, Image) and not provider.images:
            part = Text(NO_IMAGE)
            if content and content[-1] == part:
                continue
        if isinstance(part, Text):
            part = Text(clean(part.text))
            if not part.text.strip() and not provider.blank_text:
                continue
        else:
            part = sendable(part)
        content.append(part)
    return UserMessage(tuple(content)) if content else None


def result_of(call: ToolCall, result: ToolResult, target: Target) -> ToolResult:
    """A result as `target` takes it: with the id and the name of its repaired call."""
    text, images = clean(result.text), result.images
    if images and not target.provider.images:
        text, images = "\n".join(filter(None, [text, NO_RESULT_IMAGE])), ()
    shown = tuple([sendable(image) for image in images])
    return replace(result, call_id=call.id, name=call.name, text=text, images=shown)


def sendable(image: Image) -> Image:
    """A picture whose fields can be encoded, whatever the provider then says to them."""
    return Image(clean(image.media_type), clean(image.data))
