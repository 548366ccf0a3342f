"""The ways a file operation can fail: one stable code and one message for the model each."""

from __future__ import annotations

import errno
import os

from shared.errors import ToolError
from shared.text import visible

_LONGEST = 80  # characters of a path that a message repeats

_MESSAGES = {
    "path_escape": "{path} leads out of the workspace. Use a path that stays inside it.",
    "path_too_long": "{path} is too long for a path. Use fewer or shorter names.",
    "file_not_found": "{path} does not exist. Use glob to see what is there.",
    "is_a_directory": "{path} is a directory, not a file. Use glob to see what is in it.",
    "not_a_directory": "In {path}, a file stands where a directory should. Use glob to look.",
    "not_a_file": "{path} is a pipe, a socket or a device, not a file. Leave it alone.",
    "symlink_loop": "{path} goes through too many links, perhaps in a circle. Leave it alone.",
    "permission_denied": "The system refuses access to {path}. Ask the user before trying again.",
    "too_large": "{path} is too large for this tool. Look at a part of it with a command.",
    "invalid_utf8": "{path} is not UTF-8 text. Leave it alone, or treat it with a command.",
    "text_not_found": (
        "The old text is not in {path}, so nothing was written. "
        "Read the file again and copy the text exactly, spaces and line ends included."
    ),
    "conflict": "{path} was changed by something else meanwhile. Try again once.",
    "no_space": "There is no space left to write {path}. Tell the user.",
    "filesystem_error": "The system could not handle {path}: {reason}. Tell the user.",
}

_CODES = {
    errno.EXDEV: "path_escape",
    errno.ENAMETOOLONG: "path_too_long",
    errno.ENOENT: "file_not_found",
    errno.EISDIR: "is_a_directory",
    errno.ENOTDIR: "not_a_directory",
    errno.ENXIO: "not_a_file",
    errno.ELOOP: "symlink_loop",
    errno.EFBIG: "too_large",
    errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied",
    errno.EROFS: "permission_denied",
    errno.EAGAIN: "conflict",
    errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space",
}


def file_error(code: str, path: object, *, reason: str = "") -> ToolError:
    """The error for `code`; its message names `path` as the caller spelled it."""
    return ToolError(code, _MESSAGES[code].format(path=shown(path), reason=reason))


def from_os_error(error: OSError, path: object) -> ToolError:
    """The error for what the system said.

    Only the number is used: the text of an OSError holds absolute paths of the host.
    """
    code = _CODES.get(error.errno or 0, "filesystem_error")
    return file_error(code, path, reason=os.strerror(error.errno or errno.EIO))


def os_error(number: int) -> OSError:
    """An OSError of our own making, the way the system would raise it, without any path."""
    return OSError(number, os.strerror(number))


def shown(path: object) -> str:
    """`path` in quotes, on one line, with every invisible character spelled out, shortened."""
    text = visible(repr(path))
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST - 33]}...{text[-30:]}"
