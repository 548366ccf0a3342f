"""Lantern, on 127.0.0.1: it takes a request only if that keeps the rules of its documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from shared.provider_server import Answer, ProviderServer, Received, Script

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """A sentence of the documentation, and whether a request keeps it."""

    sentence: str
    kept: Callable[[Received], bool]


def lantern_server(script: Iterable[Script], *rules: Rule) -> ProviderServer:
    """A server that plays the script, and instead answers 400 to what breaks one of the rules."""
    return ProviderServer(*(_guarded(entry, rules) for entry in script))


def _guarded(entry: Script, rules: tuple[Rule, ...]) -> Script:
    def answer(received: Received) -> Answer:
        if not received.path.endswith("/chat/completions"):
            return Answer({"error": {"message": f"There is no {received.path} here."}}, 404)
        for rule in rules:
            if not rule.kept(received):
                said = {"message": rule.sentence, "type": "invalid_request_error"}
                return Answer({"error": said}, 400)
        return entry if isinstance(entry, Answer) else entry(received)

    return answer


def reply(
    *calls: Json, text: str | None = None, reasoning: str = "", finish: str | None = None
) -> Answer:
    """A reply as Lantern sends it: without a finish reason if it is whole."""
    message: Json = {"role": "assistant", "content": text}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = list(calls)
    return Answer({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


def messages(received: Received, role: str = "") -> list[Json]:
    """The messages of a request, or those with one role."""
    return [each for each in received.body["messages"] if role in ("", each["role"])]


def functions(received: Received) -> list[Json]:
    """The functions on offer."""
    return [tool["function"] for tool in received.body.get("tools", ())]


def calls_by_id(received: Received) -> dict[str, str]:
    """The name of the tool for the id of each call in a request."""
    return {
        call["id"]: call["function"]["name"]
        for message in messages(received, "assistant")
        for call in message.get("tool_calls", ())
    }


def _dated(received: Received) -> bool:
    return received.headers.get("lantern-version") == "2026-10"


def _says_what_to_keep(received: Received) -> bool:
    return received.body.get("retention") in ("none", "30d")


def _limited(received: Received) -> bool:
    limit = received.body.get("max_new_tokens")
    others = {"max_tokens", "max_completion_tokens"} & received.body.keys()
    return type(limit) is int and 1 <= limit <= 4096 and not others


def _no_system_role(received: Received) -> bool:
    return not messages(received, "system")


def _nothing_blank(received: Received) -> bool:
    return all(
        text.strip()
        for message in messages(received)
        for text in _texts(message["content"])
        if not message.get("tool_calls")
    )


def _texts(content: Any) -> Iterator[str]:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    yield from (part["text"] for part in parts if part["type"] == "text")


def _null_beside_calls(received: Received) -> bool:
    words = ("", "null", "None")  # somebody meant the value and wrote a word
    return all(
        message["content"] is None or message["content"].strip() not in words
        for message in messages(received, "assistant")
        if message.get("tool_calls")
    )


def _text_only(received: Received) -> bool:
    return all(
        part["type"] == "text"
        for message in messages(received)
        if isinstance(message["content"], list)
        for part in message["content"]
    )


def _few_tools(received: Received) -> bool:
    return len(functions(received)) <= 32


def _short_names(received: Received) -> bool:
    names = [each["name"] for each in functions(received)] + list(calls_by_id(received).values())
    return all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", name) for name in names)


def _strict_is_said(received: Received) -> bool:
    return all(
        each.get("strict") is False or (each.get("strict") is True and _closed(each["parameters"]))
        for each in functions(received)
    )


def _closed(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_closed, schema))
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        every = set(schema.get("required", ())) == set(schema.get("properties", {}))
        if schema.get("additionalProperties") is not False or not every:
            return False
    return all(map(_closed, schema.values()))


def _short_ids(received: Received) -> bool:
    answered = [message["tool_call_id"] for message in messages(received, "tool")]
    ids = [*calls_by_id(received), *answered]
    return all(re.fullmatch(r"[A-Za-z0-9_-]{1,24}", each) for each in ids)


def _results_are_named(received: Received) -> bool:
    names = calls_by_id(received)
    return all(
        message.get("name") == names[message["tool_call_id"]]
        for message in messages(received, "tool")
    )


def _reply_after_results(received: Received) -> bool:
    roles = [message["role"] for message in messages(received)]
    return ("tool", "user") not in pairwise(roles)


VERSION = Rule("The header `Lantern-Version` names the version you speak: 2026-10.", _dated)
RETENTION = Rule(
    'Every request says in `retention` what we may keep of it: "none" or "30d".',
    _says_what_to_keep,
)
LIMIT = Rule(
    "Every request limits its reply: `max_new_tokens`, from 1 to 4096. It is the only key for it.",
    _limited,
)
ROLE = Rule("Your instructions have the role `developer`; there is no `system`.", _no_system_role)
BLANK = Rule("No message is blank.", _nothing_blank)
NULL = Rule(
    "A message with tool calls and no text has the content null. An empty string is an error, and "
    'so is the text "null".',
    _null_beside_calls,
)
TEXT_ONLY = Rule(
    "Our models read text. A picture is an error, wherever it stands.",
    _text_only,
)
TOOLS = Rule("There may be 32 tools in a request.", _few_tools)
NAMES = Rule(
    "The name of a tool has up to 40 characters: letters, digits, `_` and `-`.", _short_names
)
STRICT = Rule(
    "Each function says `strict`. If it is true, every object in the schema is closed and requires "
    "all of its properties.",
    _strict_is_said,
)
IDS = Rule(
    "The id of a call has up to 24 characters: letters, digits, `_` and `-`. Ids that we gave are.",
    _short_ids,
)
RESULT_NAME = Rule("A tool's result repeats the `name` of the tool.", _results_are_named)
BETWEEN = Rule(
    "After results it is the model's turn: a message of the user cannot follow them directly.",
    _reply_after_results,
)


def reasoning(said: str) -> Rule:
    """The rule about reasoning, for a server that remembers what it has said itself."""

    def kept(received: Received) -> bool:
        replies = [each for each in messages(received, "assistant") if each.get("tool_calls")]
        return all(each.get("reasoning_content") == said for each in replies)

    return Rule(
        "`reasoning_content` belongs to its message: where we sent it, we want to see it again.",
        kept,
    )


RULES = (
    *(VERSION, RETENTION, LIMIT, ROLE, BLANK, NULL, TEXT_ONLY),
    *(TOOLS, NAMES, STRICT, IDS, RESULT_NAME, BETWEEN),
)
