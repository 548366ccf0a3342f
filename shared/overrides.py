"""Settings that take the place of a field of the provider's record, read as the field's type."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from shared.choice import Choice
from shared.key_shape import looks_like_a_key
from shared.setting import Found, wrong

EMPTY = "empty"  # the word for "": a variable without a value counts as not set
HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [!-~](?:[ -~]*[!-~])?")


def overrides_of(found: Found, choice: Choice) -> dict[str, object]:
    """The fields that are set, each with a value of its type. Raises ConfigError."""
    values: dict[str, object] = {}
    for name, variable in overriding(found, choice).items():
        values[name] = _value(variable, found, choice.known.fields[name])
        if taken := choice.known.not_its_own(name, values[name]):
            raise wrong(
                variable,
                found,
                f"may not hold {', '.join(taken)}: the workbook writes that itself, or the "
                "provider's client does. Take it out.",
            )
    return values


def overriding(found: Found, choice: Choice) -> dict[str, str]:
    """The fields that are set, each with the variable that sets it."""
    names = {name: choice.variable(found, name.upper()) for name in choice.known.fields}
    return {name: variable for name, variable in names.items() if variable is not None}


# region: value
def _value(variable: str, found: Found, kind: Any) -> object:
    """The text as JSON, where it is some, or else as it stands: `4096`, `null`, `on`."""
    from pydantic import TypeAdapter, ValidationError

    text = found[variable].value.strip()
    if looks_like_a_key(text):
        raise wrong(variable, found, "holds what looks like a key, and this is no place for one.")
    if text == EMPTY and "" in _words_of(kind):
        return ""
    adapter = TypeAdapter(kind)
    for read in (adapter.validate_json, adapter.validate_python):
        try:
            value: object = read(text)
        except ValidationError:
            continue
        if _can_be_sent(value, kind):
            return value
    raise wrong(variable, found, f"takes {_what_it_takes(kind)}.")


# endregion: value


def _can_be_sent(value: object, kind: Any) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return value >= 1
    if isinstance(value, Mapping):
        try:
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError):
            return False
        if get_args(kind)[1] is str:  # these become headers
            return all(HEADER.fullmatch(f"{name}: {text}") for name, text in value.items())
    return True


def _words_of(kind: Any) -> tuple[object, ...]:
    return get_args(kind) if get_origin(kind) is Literal else ()


def _what_it_takes(kind: Any) -> str:
    if words := _words_of(kind):
        return " or ".join([EMPTY if word == "" else json.dumps(word) for word in words])
    if get_origin(kind) is UnionType or NoneType in get_args(kind):
        (other,) = [each for each in get_args(kind) if each is not NoneType]
        return f"{_what_it_takes(other)}, or null"
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return f"one of {', '.join(kind)}"
    if get_origin(kind) is not None:
        example = '{"x-team": "red"}' if get_args(kind)[1] is str else '{"temperature": 0}'
        return f"a JSON object such as {example}"
    return {bool: "true or false", int: "a whole number from 1 on"}.get(kind, "a text")
