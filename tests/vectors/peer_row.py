"""One row about another agent library's converters, read from a file; what cannot be used is named.

A row is `id`, `area`, `given` (in that library's own data model) and `expect` (what it made of it).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.text import shorten

Json = dict[str, Any]

AREAS = (
    *("convertTools", "convertMessages", "id-normalisation", "transform"),
    *("stream", "json-parse", "validation"),
)
LATER = {
    "agent-loop": 6,
    "agent-class": 6,
}
"""Areas of chapters that come later, and which chapter that is."""

APIS = ("openai-completions", "openai-responses", "anthropic-messages", "google-generative-ai")
ROLES = ("user", "assistant", "toolResult")
BLOCKS = {"text": "text", "thinking": "thinking", "image": "data", "toolCall": "id"}


class UnusableFile(Exception):
    """The file is not a file of such rows; the text says where and why."""


@dataclass(frozen=True)
class Row:
    """One line of the file."""

    id: str
    area: str
    given: Json
    expect: Json


def load(path: Path) -> list[Row]:
    """The rows of a file. Raises UnusableFile: what is not understood must not pass unseen."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableFile(f"{path}: cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                data = json.loads(line)
                if isinstance(data, dict) and isinstance(data.get("id"), str):
                    where += f", row {ascii(data['id'])[1:-1]}"
                rows.append(read_row(data))
            except ValueError as error:
                raise UnusableFile(f"{where}: {error}") from None
            except RecursionError:
                raise UnusableFile(f"{where}: nested too deeply") from None
    if not rows:
        raise UnusableFile(f"{path}: holds no row")
    return rows


def read_row(data: Any) -> Row:
    """A row of parsed JSON. Raises ValueError, which says what is wrong."""
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    if lacking := {"id", "area", "given", "expect"} - set(data):
        raise ValueError(f"the row has no {', '.join(sorted(lacking))}")
    if not isinstance(data["id"], str) or not data["id"].isprintable():
        raise ValueError("the id cannot be printed")
    area, given, expect = data["area"], data["given"], data["expect"]
    if area not in (*AREAS, *LATER):
        raise ValueError(f"unknown area {_shown(area)}")
    row = Row(data["id"], area, given, expect)
    if area in AREAS:
        _object(given, "given")
        _object(expect, "expect")
        if check := _CHECKS.get(area):
            check(given)
    return row


def _check_tools(given: Json) -> None:
    _text(given, "api", "provider", "model")
    for tool in _list(given, "tools"):
        _object(tool, "a tool")
        _text(tool, "name", "description")
        _object(tool.get("parameters"), "the parameters of a tool")


def _check_conversion(given: Json) -> None:
    _text(given, "api")
    _check_model(given)
    _check_messages(given)


def _check_transform(given: Json) -> None:
    _check_model(given)
    _text(given["model"], "api")
    _check_messages(given)


def _check_id(given: Json) -> None:
    if given.get("function") == "shortHash":
        _text(given, "text")
        return
    _text(given, "id")
    for name in ("target", "sourceMessage"):
        _object(given.get(name), name)
        _text(given[name], "api", "provider", "model")


def _check_stream(given: Json) -> None:
    _text(given, "api", "model")
    for chunk in _list(given, "chunks"):
        if not isinstance(chunk, str):
            _object(chunk, "a chunk")


_CHECKS = {
    "stream": _check_stream,
    "convertTools": _check_tools,
    "convertMessages": _check_conversion,
    "transform": _check_transform,
    "id-normalisation": _check_id,
}


def _check_model(given: Json) -> None:
    _object(given.get("model"), "model")
    _text(given["model"], "id", "provider")


def _check_messages(given: Json) -> None:
    for message in _list(given, "messages"):
        _object(message, "a message")
        if message.get("role") not in ROLES:
            raise ValueError(f"unknown role {_shown(message.get('role'))}")
        content = message.get("content")
        if not isinstance(content, str | list | None):
            raise ValueError(f"the content of a message is {_shown(content)}")
        if message["role"] == "assistant":
            _text(message, "api", "provider", "model", "stopReason")
        if message["role"] == "toolResult":
            _text(message, "toolCallId", "toolName")
        for block in content if isinstance(content, list) else ():
            _object(block, "a block")
            kind = block.get("type")
            if kind not in BLOCKS:
                raise ValueError(f"unknown block {_shown(kind)}")
            _text(block, BLOCKS[kind])
            if kind == "toolCall":
                _text(block, "name")
                _object(block.get("arguments") or {}, "the arguments of a call")


def _object(value: Any, name: str) -> None:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is no JSON object")


def _list(container: Json, key: str) -> list[Any]:
    if not isinstance(container.get(key), list):
        raise ValueError(f"{key} is no list")
    found: list[Any] = container[key]
    return found


def _text(container: Json, *keys: str) -> None:
    for key in keys:
        if not isinstance(container.get(key), str):
            raise ValueError(f"{key} is no text")


def _shown(value: Any) -> str:
    return shorten(ascii(value), 80)
