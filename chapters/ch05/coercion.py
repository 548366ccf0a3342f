"""Values brought to the type that a JSON Schema asks for, where no meaning is lost.

Models write "10" for 10 and null for "not given". The table is that of another agent library, with
two differences: a value that fits is left as it is, and null for a property that is optional and
cannot be null means that it is not given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from chapters.ch05.number_text import number_of, text_of

Schema = Mapping[str, Any]
Fits = Callable[[Any, Any], bool]
"""Whether a value is valid under a part of the schema."""


# region: table
class _Unchanged:
    pass


UNCHANGED: Final = _Unchanged()


def to_number(value: Any) -> Any:
    """5 from "5", 1 from true, 0 from null."""
    if value is None or isinstance(value, bool):
        return int(value or 0)
    number = number_of(value) if isinstance(value, str) else None
    return UNCHANGED if number is None else number


def to_integer(value: Any) -> Any:
    """As `to_number`, if that is whole: a fraction is never cut off."""
    number = to_number(value)
    if isinstance(number, float):
        return int(number) if number.is_integer() else UNCHANGED
    return number


def to_string(value: Any) -> Any:
    """ "123" from 123, "true" from true, "" from null."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return text_of(value) if isinstance(value, int | float) else UNCHANGED


def to_boolean(value: Any) -> Any:
    """true from "true" and 1, false from "false", 0 and null; "yes" and "1" stay."""
    if value is None or (isinstance(value, int | float) and value in (0, 1)):
        return bool(value)
    return (
        {"true": True, "false": False}.get(value, UNCHANGED)
        if isinstance(value, str)
        else UNCHANGED
    )


def to_null(value: Any) -> Any:
    """null from "", 0 and false."""
    is_empty = value == "" or (isinstance(value, int | float) and value == 0)
    return None if is_empty else UNCHANGED


CONVERT: Final[Mapping[str, Callable[[Any], Any]]] = {
    "number": to_number,
    "integer": to_integer,
    "string": to_string,
    "boolean": to_boolean,
    "null": to_null,
}
"""For each type, what becomes of a value that is not of it. Lists and objects are never made."""
# endregion: table


def is_kind(kind: str, value: Any) -> bool:
    """Whether `value` is of a type of JSON Schema. In Python a bool is an int; here it is not."""
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "integer":
            whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
            return whole and not isinstance(value, bool)
        case "string":
            return isinstance(value, str)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list)
        case _:
            return kind == "object" and isinstance(value, dict)


# region: coerce
class Coercion:
    """Brings values to what one schema asks for. What is given to it is never changed.

    `spend` is called with each step, and may raise when there were too many.
    """

    def __init__(self, root: Schema, fits: Fits, spend: Callable[[], None] = lambda: None) -> None:
        self._root = root
        self._fits = fits
        self._spend = spend

    def coerce(self, schema: Any, value: Any) -> Any:
        """`value` as `schema`, a part of the root, asks for it, as far as that is possible."""
        if not isinstance(schema, Mapping):
            return value
        self._spend()
        if "$ref" in schema:
            value = self.coerce(self._target(schema["$ref"]), value)
        if "type" in schema:
            value = _as_type(schema["type"], value)
        for part in schema.get("allOf", ()):
            value = self.coerce(part, value)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                value = self._as_branch(schema[keyword], value)
        if isinstance(value, dict):
            return self._object(schema, value)
        return self._list(schema, value) if isinstance(value, list) else value

    def _as_branch(self, branches: Sequence[Any], value: Any) -> Any:
        """Unchanged if it fits one of them, else as the first one that it can be brought to."""
        for branch in branches:
            if self._fits(branch, value):
                return self.coerce(branch, value)
        for branch in branches:
            changed = self.coerce(branch, value)
            if self._fits(branch, changed):
                return changed
        return value

    def _object(self, schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        changed = {}
        for name, inner in value.items():
            optional = name in properties and name not in required
            if inner is None and optional and not self._fits(properties[name], None):
                continue  # not given
            for part in _parts_for(name, schema):
                inner = self.coerce(part, inner)
            changed[name] = inner
        return changed

    def _list(self, schema: Schema, value: list[Any]) -> list[Any]:
        rest = schema.get("items")
        first = schema.get("prefixItems", ())
        if isinstance(rest, list):  # how drafts before 2020 write `prefixItems`
            first, rest = rest, schema.get("additionalItems")
        return [
            self.coerce(first[place] if place < len(first) else rest, item)
            for place, item in enumerate(value)
        ]

    def _target(self, reference: str) -> Any:
        """The part that `#/$defs/name` names. Anything else is not looked up here."""
        part: Any = self._root
        start, *steps = reference.split("/")
        if start != "#":
            return None
        for step in steps:
            step = unquote(step).replace("~1", "/").replace("~0", "~")
            part = part[int(step)] if isinstance(part, list) else part.get(step, {})
        return part


# endregion: coerce


def _as_type(wanted: str | Sequence[str], value: Any) -> Any:
    kinds = [wanted] if isinstance(wanted, str) else wanted
    if any(is_kind(kind, value) for kind in kinds):
        # 5.0 is an integer to JSON Schema, but not to pydantic.
        whole = isinstance(value, float) and value.is_integer() and "integer" in kinds
        return int(value) if whole else value
    for kind in kinds:
        changed = CONVERT[kind](value) if kind in CONVERT else UNCHANGED
        if changed is not UNCHANGED:
            return changed
    return value


def _parts_for(name: str, schema: Schema) -> list[Any]:
    """What an object's schema says of the property `name`."""
    parts = [schema["properties"][name]] if name in schema.get("properties", {}) else []
    for pattern, part in schema.get("patternProperties", {}).items():
        if re.search(pattern, name):
            parts.append(part)
    return parts or [schema.get("additionalProperties")]
