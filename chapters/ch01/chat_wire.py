"""Chat Completions as JSON: our messages to theirs, their reply to ours; nothing is sent here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from chapters.ch01.dispatch import LONE_SURROGATE, parse_arguments, unwrapped
from shared.errors import ToolError
from shared.messages import (
    FINISHED,
    AssistantMessage,
    Message,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)

T = TypeVar("T")

LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
FINISH_CHARACTERS = 64
SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class UnreadableReply(ValueError):
    """The body of an answer is not a chat completion; the message says what is wrong with it."""


# region: to_wire
def to_body(request: Request, model: str) -> dict[str, Any]:
    """The JSON of one request. A key with nothing in it is left out: some servers refuse `[]`."""
    messages = [to_wire(message) for message in request.messages if not says_nothing(message)]
    if request.system:
        messages.insert(0, {"role": "system", "content": clean(request.system)})
    body: dict[str, Any] = {"model": model, "messages": messages}
    if request.tools:
        body["tools"] = [tool_to_wire(spec) for spec in request.tools]
    return body


def tool_to_wire(spec: ToolSpec) -> dict[str, Any]:
    """One tool on offer."""
    function = {
        "name": spec.name,
        "description": clean(spec.description),
        "parameters": dict(spec.parameters),
    }
    return {"type": "function", "function": function}


def to_wire(message: Message) -> dict[str, Any]:
    """One message of the history."""
    if isinstance(message, UserMessage):
        return {"role": "user", "content": clean(message.text)}
    if isinstance(message, ToolResult):
        return {"role": "tool", "tool_call_id": message.call_id, "content": clean(message.text)}
    # "" and not null, even beside calls: there are servers that answer null with a 500.
    wire: dict[str, Any] = {"role": "assistant", "content": clean(message.text)}
    if message.calls:
        wire["tool_calls"] = [call_to_wire(call) for call in message.calls]
    return wire


def call_to_wire(call: ToolCall) -> dict[str, Any]:
    """One call as it goes back. Servers refuse names and arguments that they themselves sent."""
    name = call.name
    if not LEGAL_NAME.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"
    function = {"name": name, "arguments": legal_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def legal_arguments(text: str) -> str:
    """The arguments as the model wrote them if they are a JSON object, else an empty one."""
    text = unwrapped(text)
    try:
        arguments = parse_arguments(text)
        if SURROGATE_ESCAPE.search(text) or LONE_SURROGATE.search(text):
            return json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    except (ToolError, ValueError, RecursionError):
        return "{}"
    return text if arguments else "{}"


def says_nothing(message: Message) -> bool:
    """True for an empty reply: it stays in the history, but servers refuse to read it back."""
    return isinstance(message, AssistantMessage) and not message.content


def clean(text: str) -> str:
    """Half a surrogate pair cannot be sent, shown or stored; it becomes U+FFFD."""
    return LONE_SURROGATE.sub("\ufffd", text)


# endregion: to_wire


# region: from_wire
STOP_REASONS = {
    "stop": StopReason.END_TURN,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
    "content_filter": StopReason.CONTENT_FILTER,
}


def from_wire(body: object, taken: Iterable[str], new_id: Callable[[], str]) -> AssistantMessage:
    """A whole answer as our message. Raises UnreadableReply if it does not have the shape of one.

    Each call gets an id that is not in `taken` and not used twice, from `new_id` if need be.
    """
    reply, used = reply_of(body), set(taken)
    content = [
        own_id(part, used, new_id) if isinstance(part, ToolCall) else part for part in reply.content
    ]
    return replace(reply, content=tuple(content))


def reply_of(body: object) -> AssistantMessage:
    """A whole answer as our message, with call ids as they came: "" where there was none."""
    choices = field(body, "choices", list)
    if not choices:
        raise UnreadableReply("`choices` is empty")
    message = field(choices[0], "message", dict)
    refusal = message.get("refusal")
    refusal = clean(refusal) if isinstance(refusal, str) else ""
    texts = [Text(text) for text in (text_of(message.get("content")), refusal) if text]
    calls = calls_of(message)
    finish = finish_word(str(choices[0].get("finish_reason") or ""))
    if refusal:
        stop, finish = StopReason.REFUSAL, "refusal"
    elif not finish:
        stop = StopReason.MISSING
    else:
        stop = STOP_REASONS.get(finish, StopReason.UNKNOWN)
    if stop in FINISHED:  # servers say `stop` beside calls, and `tool_calls` without any
        stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
    return AssistantMessage((*texts, *calls), stop, finish, usage_of(body))


def finish_word(said: str) -> str:
    """Why a reply ended, in the provider's words: it will be shown, so it is short and one line."""
    return "".join(filter(str.isprintable, said[:FINISH_CHARACTERS]))


def own_id(call: ToolCall, taken: set[str], new_id: Callable[[], str]) -> ToolCall:
    """The call with an id that is not in `taken`, which it is added to."""
    call_id = call.id
    while not call_id or call_id in taken:
        call_id = new_id()
    taken.add(call_id)
    return replace(call, id=call_id)


def calls_of(message: dict[str, Any]) -> list[ToolCall]:
    """The calls of a message, each with a name, maybe of no tool."""
    wire = message.get("tool_calls") or []
    if not wire and message.get("function_call"):  # how it was before several calls were possible
        wire = [{"function": message["function_call"]}]
    if not isinstance(wire, list):
        raise UnreadableReply("`tool_calls` is not a list")
    calls = []
    for entry in wire:
        if not isinstance(entry, dict):
            raise UnreadableReply("an entry of `tool_calls` is not an object")
        function = entry.get("custom") or entry.get("function") or {}
        if not isinstance(function, dict):
            raise UnreadableReply("the function of a tool call is not an object")
        call_id, name = entry.get("id"), function.get("name")
        arguments = arguments_of(function.get("arguments", function.get("input")))
        calls.append(ToolCall(_word(call_id), _word(name), arguments))
    return calls


def _word(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def arguments_of(value: object) -> str:
    """Arguments as JSON text. Some servers send the object itself, or null for none."""
    if value is None:
        return ""
    return clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def text_of(content: object) -> str:
    """Content as text: a string, nothing, or a list of parts, of which those with text count."""
    if content is None or isinstance(content, str):
        return clean(content or "")
    if not isinstance(content, list):
        raise UnreadableReply("`content` is neither text nor a list")
    texts = [part.get("text") for part in content if isinstance(part, Mapping)]
    return clean("".join(text for text in texts if isinstance(text, str)))


def usage_of(body: object) -> Usage | None:
    """The tokens, if both numbers came."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return Usage(read, written) if type(read) is int and type(written) is int else None


def field(container: object, key: str, kind: type[T]) -> T:
    """`container[key]`, if that exists and is a `kind`."""
    value = container.get(key) if isinstance(container, dict) else None
    if not isinstance(value, kind):
        raise UnreadableReply(f"`{key}` is missing or not a {kind.__name__}")
    return value


# endregion: from_wire
