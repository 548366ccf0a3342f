"""Check 1 of 2: is this text usable as a path inside the workspace?

It looks at the text only, never at the disk, so the answer is the same on every platform: a path
that one reader's agent may use works for every other reader's. Where the path really leads is
check 2 (`walk.py`).
"""

from __future__ import annotations

import re
import unicodedata

from chapters.ch02.file_errors import file_error, shown
from shared.errors import ToolError

MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
MAX_NAMES = 64

# Control characters, and characters that make two different paths look the same on a screen: marks
# that change the reading direction, spaces of no width, line separators. The joiners U+200C and
# U+200D stay legal: Persian words and many emoji need them. Rarer invisible letters are ordinary
# names here; whoever shows a path to a person spells them out (`shared/text.py`).
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
)
_DRIVE = re.compile("[A-Za-z]:")
_SEPARATOR = re.compile(r"[/\\]")
_NOT_IN_PATHS = re.compile(r'[<>"|?*:]')
_NOT_IN_PATTERNS = re.compile(r'[<>"|:]')
_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"]
    + [f"{port}{digit}" for port in ("COM", "LPT") for digit in range(10)]
)

# What almost every path in a real workspace looks like. No name begins like that of a device.
_NAME = "(?!(?i:aux|c[lo]|lpt|nul|prn))[A-Za-z0-9_.-]*[A-Za-z0-9_-]"
_ORDINARY = re.compile(f"{_NAME}(?:/{_NAME})*").fullmatch


def parse_path(path: object) -> tuple[str, ...]:
    """The names in `path`, from the root of the workspace on; none for the root itself.

    Raises ToolError: `invalid_path`, `path_escape` or `path_too_long`.
    """
    return _parse(path, _NOT_IN_PATHS)


def parse_pattern(pattern: object) -> tuple[str, ...]:
    """The names in a glob pattern: as for a path, but `*`, `?`, `[` and `]` may be used."""
    return _parse(pattern, _NOT_IN_PATTERNS)


def is_usable(path: str, known: int = 0) -> bool:
    """True if `parse_path` accepts `path`, of which the first `known` characters, a directory and a
    slash, are known to be usable."""
    # A path of this length cannot hold too many names, and one match is faster than all the rules.
    if len(path) < 2 * MAX_NAMES and _ORDINARY(path, known):
        return True
    try:
        parse_path(path)
    except ToolError:
        return False
    return True


def _parse(path: object, forbidden: re.Pattern[str]) -> tuple[str, ...]:
    # The order is part of the contract: a path that breaks several rules gets the first one's code.
    if not isinstance(path, str):
        raise ToolError("invalid_path", f"A path is a string, not {type(path).__name__}.")
    if not path:
        raise ToolError("invalid_path", "The path is empty. Name a file of the workspace.")
    size = _utf8_size(path)

    if found := _INVISIBLE.search(path):
        raise _invalid(path, f"it contains {found.group()!a}, which cannot be seen; leave that out")

    if path[0] in "/\\" or _DRIVE.match(path):
        # The one message that does not repeat the path: it may be one of the host.
        raise ToolError(
            "path_escape",
            "An absolute path leads out of the workspace. "
            "Use a path relative to the workspace, such as 'src/main.py'.",
        )
    if ".." in path and ".." in _SEPARATOR.split(path):
        raise ToolError(
            "path_escape",
            f"{shown(path)} contains '..', which may lead out of the workspace. "
            "Spell the path from the root of the workspace, without '..'.",
        )

    if "\\" in path:
        raise _invalid(path, "use / between names")
    if path[0] == "~":
        raise _invalid(path, "~ does not stand for a home directory here; start with another name")

    names = tuple([name for name in path.split("/") if name not in ("", ".")])
    if size > MAX_PATH_BYTES or len(names) > MAX_NAMES or _has_long_name(names):
        raise file_error("path_too_long", path)
    if path.endswith(("/", "/.")):
        raise _invalid(path, "it ends in a slash; leave that out")

    if found := forbidden.search(path):
        raise _invalid(path, f"not every system allows {found.group()!r} in a name")
    for name in names:
        if name[-1] in ". ":
            raise _invalid(path, "a name must not end in a dot or a space")
        if _is_device(name):
            raise _invalid(path, f"{shown(name)} is the name of a device on Windows")
    return names


def _utf8_size(path: str) -> int:
    try:
        return len(path.encode())
    except UnicodeEncodeError:
        # A lone surrogate. JSON can carry one ("\udcff"), but no file name can.
        raise _invalid(path, "it is not valid Unicode; spell the name again") from None


def _has_long_name(names: tuple[str, ...]) -> bool:
    return any(len(name.encode()) > MAX_NAME_BYTES for name in names)


def _is_device(name: str) -> bool:
    # Windows opens the console for "con", "CON .txt" and, where it folds digits, "COM\u00b9". Only
    # this comparison folds: folding the path itself would turn harmless names into "..".
    stem = unicodedata.normalize("NFKC", name.partition(".")[0])
    return stem.rstrip(" ").upper() in _DEVICES


def _invalid(path: object, why: str) -> ToolError:
    return ToolError("invalid_path", f"{shown(path)} cannot be used as a path: {why}.")
