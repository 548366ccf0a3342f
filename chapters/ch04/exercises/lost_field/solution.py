"""`lost` tells what a schema no longer says after an adapter has sent it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Any

from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json
from shared.messages import ToolSpec


class Place(Enum):
    """What the keys of an object, or the items of a list, are."""

    SCHEMA = auto()  # keys are words of JSON Schema; items of a list are schemas, or plain words
    NAMES = auto()  # keys are names that somebody has given, each of a schema
    VALUES = auto()  # a list of values
    VALUE = auto()  # one value, that is the same or is not


PLACES = {
    "properties": Place.NAMES,
    "patternProperties": Place.NAMES,
    "dependentSchemas": Place.NAMES,
    "dependentRequired": Place.NAMES,
    "$defs": Place.NAMES,
    "definitions": Place.NAMES,
    "enum": Place.VALUES,
    "examples": Place.VALUES,
    "const": Place.VALUE,
    "default": Place.VALUE,
}
"""Where a word of JSON Schema leads, for those that do not lead to a schema."""

NOT_FOR_MODELS = frozenset({"title", "$schema", "$comment"})
"""Words of JSON Schema that may get lost: no model needs them."""


def lost(schema: Any, sent: Any) -> list[str]:
    """JSON Pointers to all that `schema` says and `sent` does not, in the order of the schema.

    What is lost with all that is in it counts once: `/properties/a`, and nothing below it.
    """
    # solution: Walk through both at the same time; `place` says whether a key is a word or a name.
    return list(_walk(schema, sent, "", Place.SCHEMA))


def _walk(said: Any, sent: Any, at: str, place: Place) -> Iterator[str]:
    if isinstance(said, dict) and isinstance(sent, dict) and place in (Place.SCHEMA, Place.NAMES):
        for key, inner in said.items():
            inside = PLACES.get(key, Place.SCHEMA) if place is Place.SCHEMA else Place.SCHEMA
            if place is Place.SCHEMA and key in NOT_FOR_MODELS:
                continue
            if key in sent:
                yield from _walk(inner, sent[key], below(at, key), inside)
            else:
                yield below(at, key)
    elif isinstance(said, list) and isinstance(sent, list) and place is not Place.VALUE:
        inside = Place.VALUE if place is Place.VALUES else Place.SCHEMA
        for index, item in enumerate(said):
            if any(not list(_walk(item, other, "", inside)) for other in sent):
                continue
            if index < len(sent):
                yield from _walk(item, sent[index], below(at, index), inside)
            else:
                yield below(at, index)
    elif not same(said, sent):
        yield at
    # end solution


def below(pointer: str, step: str | int) -> str:
    """The JSON Pointer (RFC 6901) to a key or an index below another one. "" points to the root."""
    return f"{pointer}/{str(step).replace('~', '~0').replace('/', '~1')}"


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same: 1 is 1.0, and true is not 1, whatever Python says."""
    return _spelled(one) == _spelled(other)


def _spelled(value: Any) -> str:
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    match value:
        case dict():
            return {key: _whole(inner) for key, inner in value.items()}
        case list():
            return [_whole(item) for item in value]
        case float() if value.is_integer():
            return int(value)
    return value


def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer as Anthropic describes them, with all that their schemas say."""
    # solution: As `rebuilding.py` does it, but so that no word of a schema has to be known here.
    return {
        "tools": [
            {
                "name": wire_name(spec.name, target.provider.name_limit),
                "description": spec.description,
                "input_schema": {**spec.parameters, "type": "object"},
            }
            for spec in specs
        ]
    }
    # end solution
