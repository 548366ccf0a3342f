"""The rules about requests that more than one API has: what goes together, what is spelled how."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from chapters.ch01.dispatch import JSON
from chapters.ch04.names_and_ids import LEGAL_NAME
from chapters.ch04.provider import Provider

Json = Mapping[str, Any]
Rules = Callable[[Json, Provider], Iterator[str]]


def paired(where: str, asked: Sequence[Any], answered: Sequence[Any]) -> Iterator[str]:
    """Every call has one result, and every result a call."""
    results, calls = Counter(map(str, answered)), list(map(str, asked))
    known = set(calls)
    for call_id in calls:
        if call_id not in results:
            yield f"{where}: the call {call_id!r} has no result"
    for call_id, number in results.items():
        if call_id not in known:
            yield f"{where}: a result for {call_id!r}, which was not called"
        if number > 1:
            yield f"{where}: {number} results for {call_id!r}"


def each_once(where: str, names: Iterable[Any]) -> Iterator[str]:
    """No name stands twice."""
    for name, number in Counter(map(str, names)).items():
        if number > 1:
            yield f"{where}: {name!r} is used {number} times"


def named(where: str, name: Any, provider: Provider) -> Iterator[str]:
    """A tool is called what the provider takes as a name."""
    legal = isinstance(name, str) and LEGAL_NAME.fullmatch(name)
    if not legal or len(name) > provider.name_limit:
        yield f"{where}: the name {name!r} is not legal"


def identified(where: str, call_id: Any, provider: Provider) -> Iterator[str]:
    """The id of a call is one that the provider takes."""
    if not isinstance(call_id, str) or not re.fullmatch(provider.ids.legal, call_id):
        yield f"{where}: the id {call_id!r} is not legal"


def arguments(where: str, text: Any) -> Iterator[str]:
    """Arguments travel as text, and the text is that of a JSON object."""
    try:
        found = JSON.decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        yield f"{where}: arguments have to be the JSON text of an object"


def objects(value: Any) -> list[Json]:
    """The entries of a list that are objects; none if it is no list."""
    entries = value if isinstance(value, list) else []
    return [entry for entry in entries if isinstance(entry, Mapping)]


def inside(container: Json, key: str) -> Json | None:
    """`container[key]` if that is an object, else None."""
    value = container.get(key)
    return value if isinstance(value, Mapping) else None
