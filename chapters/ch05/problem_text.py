"""What is wrong with a value, in words, at the place where it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shared.text import shorten

if TYPE_CHECKING:
    from jsonschema import ValidationError  # type: ignore[import-untyped, unused-ignore]

NAME_LIMIT, PATH_LIMIT, MESSAGE_LIMIT = 80, 200, 300  # characters


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where, as `edits.0.path` or `root`, and what."""

    path: str
    message: str


# region: problems
def problems_of(errors: Iterable[ValidationError]) -> Iterator[Problem]:
    """The library's errors as problems: the ones of each branch of a union come before its own."""
    missing: set[tuple[Any, ...]] = set()
    for error in errors:
        yield from problems_of(error.context or ())
        path = tuple(error.absolute_path)
        if error.validator == "required":  # the library has one error for each missing property
            names = [name for name in error.validator_value if name not in error.instance]
            place = (path, tuple(error.absolute_schema_path))
            if place in missing:
                continue
            missing.add(place)
            told = ", ".join(_name(name) for name in names)
            yield Problem(_dotted((*path, names[0])), f"must have required properties {told}")
        else:
            yield Problem(_dotted(path), _message(error))


# endregion: problems


def _dotted(path: Sequence[str | int]) -> str:
    return shorten(".".join(_name(step) for step in path), PATH_LIMIT) or "root"


def _name(step: str | int) -> str:
    """A name that the model may have chosen: it must not look like a line of ours."""
    text = str(step)
    return shorten(text if text.isprintable() else json.dumps(text), NAME_LIMIT)


def _json(value: Any) -> str:
    return shorten(json.dumps(value, ensure_ascii=False), MESSAGE_LIMIT)


def _kinds(wanted: str | Sequence[str]) -> str:
    return f"must be {wanted if isinstance(wanted, str) else ' or '.join(wanted)}"


WORDS: Mapping[str, Callable[[Any], str]] = {
    "type": _kinds,
    "enum": lambda _: "must be equal to one of the allowed values",
    "const": lambda _: "must be equal to constant",
    "additionalProperties": lambda _: "must not have additional properties",
    "unevaluatedProperties": lambda _: "must not have unevaluated properties",
    "pattern": lambda pattern: f"must match pattern {_json(pattern)}",
    "format": lambda name: f'must match format "{name}"',
    "minimum": lambda limit: f"must be >= {limit}",
    "maximum": lambda limit: f"must be <= {limit}",
    "exclusiveMinimum": lambda limit: f"must be > {limit}",
    "exclusiveMaximum": lambda limit: f"must be < {limit}",
    "multipleOf": lambda step: f"must be multiple of {step}",
    "minLength": lambda count: f"must not have fewer than {count} characters",
    "maxLength": lambda count: f"must not have more than {count} characters",
    "minItems": lambda count: f"must not have fewer than {count} items",
    "maxItems": lambda count: f"must not have more than {count} items",
    "minProperties": lambda count: f"must not have fewer than {count} properties",
    "maxProperties": lambda count: f"must not have more than {count} properties",
    "uniqueItems": lambda _: "must not have duplicate items",
    "anyOf": lambda _: "must match a schema in anyOf",
    "oneOf": lambda _: "must match exactly one schema in oneOf",
    "not": lambda _: "must not be valid",
}


def _message(error: ValidationError) -> str:
    words = WORDS.get(error.validator)
    return words(error.validator_value) if words else shorten(error.message, MESSAGE_LIMIT)
