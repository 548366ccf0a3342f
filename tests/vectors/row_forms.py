"""What each part of a row of safe-path vectors looks like: in words, and as a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

MOST_BYTES = 2**63 - 1  # what the size of a file can be


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != "" and "\0" not in value


def is_names(value: Any) -> bool:
    return isinstance(value, list) and all(_is_name(name) for name in value)


def _is_pair(value: Any) -> bool:
    return is_names(value) and len(value) == 2


def _is_number(value: Any, most: int = MOST_BYTES) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_size(value: Any) -> bool:
    return _is_list_of(value, _is_name, _is_number)


def _is_device(value: Any) -> bool:
    return _is_list_of(value, _is_name, _is_device_number, _is_device_number)


def _is_device_number(value: Any) -> bool:
    return _is_number(value, 0xFFF)


def _is_list_of(value: Any, *checks: Callable[[Any], bool]) -> bool:
    return (
        isinstance(value, list)
        and len(value) == len(checks)
        and all(is_right(part) for is_right, part in zip(checks, value, strict=True))
    )


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool)


def _is_text(value: Any) -> bool:
    # A lone surrogate cannot be written to a file.
    return isinstance(value, str) and value.encode(errors="replace").decode() == value


def _is_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _is_name(name) and _is_text(text) for name, text in value.items()
    )


def _is_hex(value: Any) -> bool:
    try:
        return isinstance(value, str) and bytes.fromhex(value) is not None
    except ValueError:
        return False


def _is_hex_name(value: Any) -> bool:
    return _is_hex(value) and _is_name(bytes.fromhex(value).decode("latin-1"))


def _is_mode(value: Any) -> bool:
    if not isinstance(value, str) and type(value) is not int:
        return False
    try:
        return 0 <= read_mode(value) <= 0o7777
    except ValueError:
        return False


def read_mode(value: str | int) -> int:
    """The bits of a mode: "644", "0o644" and 644 are the same."""
    return int(str(value), 8)


def _is_name_and_mode(value: Any) -> bool:
    return _is_list_of(value, _is_name, _is_mode)


def _is_modes(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_is_name(name) and _is_mode(mode) for name, mode in value.items())
    return _is_mode(value) or _is_name_and_mode(value)


Form = tuple[str, Callable[[Any], bool]]

_NAME: Form = ("a name", _is_name)
_NAMES: Form = ("a list of names", is_names)
_PAIR: Form = ("two names", _is_pair)
_BOOL: Form = ("true or false", _is_bool)
_MODE: Form = ("an octal number of at most 7777", _is_mode)

SETUP_OPS: dict[str, Form] = {
    "mkdir": _NAME,
    "file": _NAME,
    "fifo": _NAME,
    "socket": _NAME,
    "rawfile": ("a name in hexadecimal digits", _is_hex_name),
    "symlink": ("a name and a target", _is_pair),
    "hardlink": _PAIR,
    "race_exchange": _PAIR,
    "sparse": ("a name and a size", _is_size),
    "device": ("a name and two numbers", _is_device),
    "chmod": ("a name and an octal mode", _is_name_and_mode),
    "root_symlink": _BOOL,
}
SETUP_DETAILS: dict[str, Form] = {
    "text": ("a text", _is_text),
    "hex": ("hexadecimal digits", _is_hex),
    "mode": _MODE,
}
EXPECTATIONS: dict[str, Form] = {
    "ok": ("true, false or null", lambda value: value is None or _is_bool(value)),
    "code": ("a code", _is_name),
    "also": ("a list of codes", is_names),
    "content": ("a text", lambda value: isinstance(value, str)),
    "matches": ("a list of names", is_names),
    "path": ("a name", _is_name),
    "bytes": ("a number", _is_number),
    "after": ("texts by name", _is_texts),
    "mode": ("a mode, or modes by name", _is_modes),
    "still_symlink": _NAMES,
    "absent": _NAMES,
    "no_change_outside": _BOOL,
    "no_leak": _BOOL,
    "no_stray": _BOOL,
}
