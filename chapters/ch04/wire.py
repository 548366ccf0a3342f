"""What every API has in common: three pure functions, and a body made of what they return."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chapters.ch01.chat_wire import UnreadableReply, clean, finish_word, own_id
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Strict, Target
from chapters.ch04.repair import Group, groups
from chapters.ch04.sendable_tool import sendable_tool
from chapters.ch04.strict_schema import without_nulls
from shared.errors import ConfigError
from shared.messages import FINISHED, AssistantMessage, Request, StopReason, ToolCall, ToolSpec

Json = dict[str, Any]
ROOT = {"anyOf", "oneOf", "allOf", "not", "enum", "$ref"}  # what may not stand at the root


# region: wire
@dataclass(frozen=True, slots=True)
class Wire:
    """One API as pure functions: nothing is sent here, and nothing is remembered.

    `tools` turns the tools on offer into the fields of a request that hold them. `items` turns one
    group of a repaired history into what the API calls messages, input items or contents; the list
    of them is the field `key`. `reply` reads the JSON of an answer, with call ids as they came and
    "" for none; it raises UnreadableReply for JSON that is no answer. `fields` are the other fields
    of a request, `opening` comes before the first item, and `closing` marks the last ones.
    `answer` and `usually` are for messages to a person: what a reply is called, how addresses look.
    """

    key: str
    path: Callable[[Target], str]
    tools: Callable[[Sequence[ToolSpec], Target], Json]
    items: Callable[[Group, Target], list[Json]]
    reply: Callable[[Any, Target], AssistantMessage]
    fields: Callable[[Request, Target], Json]
    opening: Callable[[Request, Target], list[Json]] = lambda request, target: []
    closing: Callable[[list[Json], Target], list[Json]] = lambda items, target: items
    answer: str = "a reply"
    usually: str = "ends in /v1"


# endregion: wire


def fields_of(wire: Wire, request: Request, target: Target) -> Json:
    """A request without its messages.

    Raises ConfigError for tools that the provider does not take: too many, two with one name, a
    schema that is not that of an object or no JSON.
    """
    limit = target.provider.max_tools
    if limit is not None and len(request.tools) > limit:
        raise ConfigError(
            f"{target.provider.name} takes at most {limit} tools, and {len(request.tools)} are on "
            "offer. Leave some out, or raise WORKBOOK_MAX_TOOLS."
        )
    for spec in request.tools:
        if spec.parameters.get("type", "object") != "object" or ROOT & spec.parameters.keys():
            raise ConfigError(
                f"The schema of the tool {spec.name!r} is not that of an object. Providers refuse "
                "it: put what it describes into a property."
            )
    offered = [sendable_tool(spec) for spec in request.tools]
    _check_names(request.tools, target)
    tools = wire.tools(offered, target) if offered else {}
    fields = merged({**wire.fields(request, target), **tools}, target.provider.extra_body)
    fields.pop(wire.key, None)  # the conversation has this key, and no key stands twice
    return fields


def _check_names(tools: Sequence[ToolSpec], target: Target) -> None:
    """Raise ConfigError if two tools would be called the same by the model."""
    ours: dict[str, str] = {}
    for spec in tools:
        name = wire_name(spec.name, target.provider.name_limit)
        if ours.setdefault(name, spec.name) != spec.name:
            raise ConfigError(
                f"{target.provider.name} cannot tell the tools {ours[name]!r} and {spec.name!r} "
                f"apart: both are sent as {name!r}. Rename one of them."
            )


def merged(body: Json, extra: Mapping[str, Any]) -> Json:
    """`body` with `extra` added: an object in both, such as generationConfig, is one of both."""
    both = {
        key: {**body[key], **value}
        for key, value in extra.items()
        if isinstance(value, Mapping) and isinstance(body.get(key), Mapping)
    }
    return {**body, **extra, **both}


def to_body(wire: Wire, request: Request, target: Target) -> Json:
    """The JSON of one request, made from the whole history. What is sent is the same, encoded."""
    repaired = [wire.items(group, target) for group in groups(request.messages, target)]
    if repaired:
        repaired[-1] = wire.closing(repaired[-1], target)
    items = [item for each in (wire.opening(request, target), *repaired) for item in each]
    return {**fields_of(wire, request, target), wire.key: items}


def encode(value: Any) -> bytes:
    """JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def encoded_fields(wire: Wire, request: Request, target: Target) -> bytes:
    """A request without its messages, as it is sent. Raises ConfigError as `fields_of` does."""
    fields = fields_of(wire, request, target)
    try:
        return encode(fields)
    except (ValueError, TypeError, RecursionError):
        raise ConfigError(
            f"What is added to each request for {target.provider.name} is no JSON: see the model's "
            "name, the keys of WORKBOOK_EXTRA_BODY and WORKBOOK_TOKEN_LIMIT_KEY."
        ) from None


# region: finish
def finish(
    reply: AssistantMessage,
    target: Target,
    tools: Sequence[ToolSpec],
    taken: set[str],
    new_id: Callable[[], str],
) -> AssistantMessage:
    """The reply as it enters the history: our names of the tools, and call ids nobody else has.

    Adds the ids of the reply to `taken`.
    """
    provider = target.provider
    ours = {wire_name(spec.name, provider.name_limit): spec for spec in tools}

    def own(call: ToolCall) -> ToolCall:
        call = own_id(call, taken, new_id)
        spec = ours.get(call.name)
        if spec is None:
            return call
        if provider.strict is Strict.ON:
            call = without_nulls(call, spec)
        return replace(call, name=spec.name)

    content = [own(part) if isinstance(part, ToolCall) else part for part in reply.content]
    return replace(reply, content=tuple(content), origin=target.origin)


# endregion: finish


def finished(reply: AssistantMessage, target: Target) -> AssistantMessage:
    """The reply with its stop reason made sure of: what it holds counts, not what it is called.

    Servers say that they stopped beside calls, and that there are calls where there are none; some
    say nothing at all.
    """
    stop = reply.stop
    if stop is StopReason.MISSING and not target.provider.finish_required:
        stop = StopReason.END_TURN
    if stop in FINISHED:
        stop = StopReason.TOOL_USE if reply.calls else StopReason.END_TURN
    return replace(reply, stop=stop, finish=finish_word(reply.finish))


def words(container: Mapping[str, Any], name: str) -> str:
    """`container[name]` if that is text, cleaned; else ""."""
    value = container.get(name)
    return clean(value) if isinstance(value, str) else ""


def tokens(container: object, *names: str) -> int:
    """The number of tokens at `container[name][name]...`; 0 if there is none."""
    value = container
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if type(value) is int and value > 0 else 0


def objects(container: Mapping[str, Any], name: str) -> list[Json]:
    """The objects in the list `container[name]`; none if that is null or missing.

    Raises UnreadableReply for anything else.
    """
    value = container.get(name)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise UnreadableReply(f"`{name}` is not a list of objects")
    return value


def arguments_object(call: ToolCall) -> Json:
    """The arguments of a repaired call for an API that wants them as an object and not as text."""
    arguments: Json = json.loads(call.arguments, parse_float=_number)
    return arguments


def _number(text: str) -> float | str:
    """A number that is too large for a float stays as it is written: JSON has no infinity."""
    number = float(text)
    return number if math.isfinite(number) else text
