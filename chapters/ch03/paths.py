"""Which of a call's arguments are paths of the workspace: whatever the tool is called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel

from chapters.ch02.file_tools import IS_PATH


# region: paths
def workspace_paths(arguments: Any) -> tuple[str, ...]:
    """The values of all fields that chapter 2's `WorkspacePath` marks, in order."""
    return tuple(_paths(arguments))


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            inner = getattr(value, name)
            marked = IS_PATH in field.metadata or _is_marked(field.annotation)
            yield from _texts(inner) if marked else _paths(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _paths(inner)
    elif isinstance(value, Mapping):
        yield from _paths(list(value.values()))


# endregion: paths


def _is_marked(hint: Any) -> bool:
    """True for an optional path, a list of paths and the like: the mark lies further inside."""
    return IS_PATH in getattr(hint, "__metadata__", ()) or any(map(_is_marked, get_args(hint)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _texts(inner)
