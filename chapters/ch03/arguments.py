"""The arguments of a call as plain data: what is shown, compared and written down."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


# region: fields
def fields(arguments: Any) -> dict[str, Any]:
    """The arguments by name, whichever kind of class holds them. None is ever left out."""
    named = plain(arguments)
    return named if isinstance(named, dict) else {"arguments": named}


def plain(value: Any) -> Any:
    """`value` in types that JSON has. What JSON has no type for becomes its `repr`."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, BaseModel):  # not `model_dump`: a field may ask to be left out of that
        extra = value.model_extra or {}
        names = (*type(value).model_fields, *extra)
        return {name: plain(getattr(value, name)) for name in names}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = tuple(field.name for field in dataclasses.fields(value))
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return repr(value)


# endregion: fields
