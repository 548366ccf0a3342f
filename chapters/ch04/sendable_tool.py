"""A tool's definition as JSON that can be sent: copied, with text that has bytes, and bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chapters.ch01.chat_wire import clean
from chapters.ch01.dispatch import MAX_LEVELS
from shared.errors import ConfigError
from shared.messages import ToolSpec

MAX_VALUES = 100_000  # in one schema; those that describe a tool have some hundred


class _NotJson(ValueError):
    """What is wrong with a schema."""


# region: sendable
def sendable_tool(spec: ToolSpec) -> ToolSpec:
    """The tool with a schema that any provider's client can encode.

    Lone surrogates become U+FFFD. Raises ConfigError for a schema that is no JSON, or has no end.
    """
    try:
        parameters = _Copy().of(spec.parameters, 1)
    except _NotJson as problem:
        raise ConfigError(
            f"The schema of the tool {clean(spec.name)!r} cannot be sent: {problem}."
        ) from None
    return replace(spec, description=clean(spec.description), parameters=parameters)


class _Copy:
    """Copies values, and counts them: a value that is in many places is sent at each of them."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def of(self, value: Any, level: int) -> Any:
        self._left -= 1
        if self._left < 0:
            raise _NotJson(f"it has more than {MAX_VALUES:,} values")
        if level > MAX_LEVELS:
            raise _NotJson(f"it is nested deeper than {MAX_LEVELS} levels")
        match value:
            case None | bool() | int():
                return value
            case str():
                return clean(value)
            case float() if math.isfinite(value):
                return value
            case Mapping():
                return {self._key(key): self.of(inner, level + 1) for key, inner in value.items()}
            case list() | tuple():
                return [self.of(inner, level + 1) for inner in value]
        what = "infinity or NaN" if isinstance(value, float) else f"a {type(value).__name__}"
        raise _NotJson(f"it holds {what}, which is no JSON")

    def _key(self, key: object) -> str:
        if not isinstance(key, str):
            raise _NotJson(f"it has the key {key!r:.60}, which is no text")
        return clean(key)


# endregion: sendable
