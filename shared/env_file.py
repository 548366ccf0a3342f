"""Reading the workbook's variables out of a `.env` file, without touching the environment."""

from __future__ import annotations

import io
from pathlib import Path

from shared.errors import ConfigError
from shared.key_shape import safe_name

PREFIX = "WORKBOOK_"
MAX_BYTES = 64_000  # a long run of blanks costs the parser of .env files quadratic time


def read_env_file(path: Path) -> dict[str, str]:
    """The `WORKBOOK_` variables of a `.env` file; empty if there is no file, or it holds none.

    Raises ConfigError if the file names such a variable and cannot be understood. A file that does
    not is somebody else's: whatever is wrong with it is none of our business, unless it is too
    large to look.
    """
    if not path.is_file():  # `.env` is also a common name for a virtual environment
        return {}
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"{path} cannot be read: {reason}. Make it readable, or move it away."
        ) from None
    if len(content) > MAX_BYTES:
        raise ConfigError(
            f"{path} is larger than 64 KB, so it was not read: it cannot be a file of settings. "
            "Move it away, or go to another folder."
        )
    if not _mentions_us(content):
        return {}
    return _parse(_decode(content, path), path)


def _mentions_us(content: bytes) -> bool:
    return any(
        PREFIX.encode(encoding) in content for encoding in ("ascii", "utf-16-le", "utf-16-be")
    )


def _decode(content: bytes, path: Path) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16, which some Windows shells write, is mostly valid UTF-8 with NULs
        raise ConfigError(f"{path} is not UTF-8 text. Save it again as UTF-8.")
    return text


def _parse(text: str, path: Path) -> dict[str, str]:
    # Imported here: it costs as much as everything else `workbook list` loads.
    from dotenv import dotenv_values
    from dotenv.parser import parse_stream

    lines: dict[str, int] = {}
    for binding in parse_stream(io.StringIO(text)):
        raw = binding.original.string  # may start with the empty lines before
        number = binding.original.line + raw[: len(raw) - len(raw.lstrip())].count("\n")
        if binding.error:
            raise ConfigError(
                f"{path}, line {number}: this is not a line of the form NAME=value. "
                "Put a value with spaces or quotes between quotes, and # before a remark."
            )
        if binding.key is not None and binding.key.startswith(PREFIX):
            # The last of the two would count, whatever block it is in: a key, somebody's address.
            if binding.key in lines:
                raise ConfigError(_twice(path, binding.key, lines[binding.key], number))
            lines[binding.key] = number
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    for name, value in values.items():
        if name.startswith(PREFIX) and value is None:
            shown = safe_name(name)
            raise ConfigError(f"{path}: {shown} has no value. Write {shown}=value.")
    return {
        name: value
        for name, value in values.items()
        if name.startswith(PREFIX) and value is not None
    }


def _twice(path: Path, name: str, first: int, second: int) -> str:
    return (
        f"{path} sets {safe_name(name)} twice, in line {first} and in line {second}. Keep one "
        "block and put # before the lines of the other, or write the provider's name into the "
        f"variables of each, as in {PREFIX}ANTHROPIC_API_KEY."
    )
