"""What our functions make of a row of the area `json-parse`, and where we decide differently."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any

from chapters.ch05.json_repair import repaired
from chapters.ch05.preview import partial_value
from tests.vectors.peer_row import Json, Row


def outcome(row: Row, expect: Json) -> Json:
    """The row's `expect` as we would write it."""
    text = row.given["text"]
    if row.given.get("function") == "repairJson":
        return {"text": repaired(text)}
    return {"value": _in_json(partial_value(text))}


def _in_json(value: Any) -> Any:
    """Numbers that JSON cannot hold are written as the rows write them."""
    if isinstance(value, dict):
        return {name: _in_json(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_in_json(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        infinity = "Infinity" if value > 0 else "-Infinity"
        return {"$number": "NaN" if math.isnan(value) else infinity}
    return value


HALF_LITERAL = re.compile(r"(?:^|[\s:,\[])(?:tr?u?|fa?l?s?|nu?l?|Na?|-?I[a-z]*)\Z")


def whole_literals(given: Json, expect: Json) -> Json:
    """`tru` is no value yet, and `N` will never be one."""
    if "value" not in expect or not HALF_LITERAL.search(given["text"]):
        return expect
    value, is_left_out = _without_last(expect["value"])
    return {"value": {} if is_left_out else value}


def _without_last(value: Any) -> tuple[Any, bool]:
    if value is None or isinstance(value, bool) or (isinstance(value, dict) and "$number" in value):
        return None, True
    if isinstance(value, dict) and value:
        name = list(value)[-1]
        inner, is_left_out = _without_last(value[name])
        rest = {key: value[key] for key in list(value)[:-1]}
        return (rest if is_left_out else {**rest, name: inner}), False
    if isinstance(value, list) and value:
        inner, is_left_out = _without_last(value[-1])
        return [*value[:-1], *([] if is_left_out else [inner])], False
    return value, False


def raw_breaks_cost_nothing(given: Json, expect: Json) -> Json:
    """A raw line break or tab in a string does not hide what was sent, also before the end."""
    theirs, text = expect.get("value"), given["text"]
    if not isinstance(theirs, dict) or not re.search(r"[\x00-\x1f]", text):
        return expect
    try:
        ours = json.loads(text + _closing(text), strict=False)
    except ValueError:
        return expect
    lost = isinstance(ours, dict) and set(theirs) <= set(ours)
    return {"value": ours} if lost else expect


def _closing(text: str) -> str:
    """What would have to come after `text` at least."""
    open_string, wanted, escaped = False, "", False
    for character in text:
        if open_string:
            open_string = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            open_string = True
        elif character in "{[":
            wanted = ("}" if character == "{" else "]") + wanted
        elif character in "}]":
            wanted = wanted[1:]
    return '"' * open_string + wanted


SHORT_CODE = re.compile(r'\\u(?![0-9a-fA-F]{4})(?=[0-9a-fA-F]{0,3}")')


def broken_escapes(given: Json, expect: Json) -> Json:
    """`\\u` without four digits is a backslash and text, as in `C:\\users`."""
    if not SHORT_CODE.search(given["text"]):
        return expect
    if "text" in expect:
        return {"text": SHORT_CODE.sub(r"\\\\u", expect["text"])}
    if expect["value"] != {}:
        return expect
    return {"value": json.loads(SHORT_CODE.sub(r"\\\\u", given["text"]))}


def escapes_on_their_way(given: Json, expect: Json) -> Json:
    """A backslash at the very end waits for what it belongs to."""
    if expect.get("text") == given["text"] + "\\" and given["text"].endswith("\\"):
        return {"text": given["text"]}
    return expect


def half_characters_are_seen(given: Json, expect: Json) -> Json:
    """Half a surrogate pair is shown as U+FFFD."""
    told = json.dumps(expect, ensure_ascii=False)
    cleaned: Json = json.loads(re.sub("[\ud800-\udfff]", "\ufffd", told))
    return cleaned


OURS: dict[str, Callable[[Json, Json], Json]] = {
    "whole-literals": whole_literals,
    "raw-breaks-cost-nothing": raw_breaks_cost_nothing,
    "broken-escapes": broken_escapes,
    "escapes-on-their-way": escapes_on_their_way,
    "half-characters-are-seen": half_characters_are_seen,
}
"""The decisions of this area, told in `decisions_arguments.toml`."""
