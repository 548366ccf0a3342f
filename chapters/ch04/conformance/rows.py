"""The rows of a set: which file holds what, and how it has to be understood."""

from __future__ import annotations

import errno
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shared.errors import ConfigError

INDEX = "index.jsonl"
MAX_BYTES = 50_000_000

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of an index: a file, the API it belongs to, what is played, what has to come out."""

    file: str
    api: str
    mode: str
    content: bytes = field(repr=False)
    what: str = ""
    provider: str = ""
    expect: Json = field(default_factory=dict)
    http: Json = field(default_factory=dict)

    def document(self) -> Json:
        """The file as a JSON object. Raises ConfigError if it is none."""
        try:
            found = json.loads(self.content)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise ConfigError(f"{self.file} does not hold a JSON object, as its mode needs.")
        return found


# region: load
def load(path: Path) -> list[Row]:
    """The rows of a set: a directory with index.jsonl, or such a file. Raises ConfigError."""
    index = path / INDEX if path.is_dir() else path
    try:
        text = read(index).decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(
            f"There is no {index}. Name a directory with an {INDEX} in it, or such a file."
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise ConfigError(f"{index} cannot be read: {reason}.") from None
    numbered = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not numbered:
        raise ConfigError(f"{index} has no rows.")
    return [_row(index, number, line) for number, line in numbered]


def read(path: Path) -> bytes:
    """The bytes of a file. Raises OSError for what is none, as a pipe, or has no end."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a file")
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_BYTES // 1_000_000} MB")
    return content


def _row(index: Path, number: int, line: str) -> Row:
    where = f"{index}, line {number}"
    try:
        wire = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}.") from None
    if not isinstance(wire, dict):
        raise ConfigError(f"{where} is not a JSON object.")
    needed = {"file": str, "api": str, "mode": str, "expect": dict}
    allowed = {"what": str, "provider": str, "http": dict}
    for name, kind in {**needed, **allowed}.items():
        if not isinstance(wire.get(name, None if name in needed else kind()), kind):
            what = {str: "text", dict: "an object"}[kind]
            raise ConfigError(f"{where}: `{name}` has to be {what}.")
    file = index.parent / wire["file"]
    try:
        content = read(file)
    except (OSError, ValueError):
        raise ConfigError(f"{where} names {wire['file']}, which cannot be read.") from None
    fields = {name: wire[name] for name in (*needed, *allowed) if name in wire}
    return Row(content=content, **fields)


# endregion: load
