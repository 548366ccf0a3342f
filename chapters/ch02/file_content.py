"""What a text file may hold and what an edit does to it: rules about bytes, whoever stores them."""

from __future__ import annotations

from chapters.ch02.file_errors import file_error
from shared.errors import ToolError

MAX_BYTES = 10_000_000  # the largest file that is read or edited, unless an adapter is told else


def decode(data: bytes, path: str) -> str:
    """`data` as text. Raises ToolError("invalid_utf8") rather than replace what it cannot read."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise file_error("invalid_utf8", path) from None


def encode(text: str) -> bytes:
    """`text` as bytes. Raises ToolError("invalid_utf8") for half a character (a lone surrogate)."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ToolError(
            "invalid_utf8",
            "The new text holds half a character (a lone surrogate), so nothing was written. "
            "Send the text again without it.",
        ) from None


def replace_first(data: bytes, old: str, new: str, path: str) -> bytes:
    """`data` with the first occurrence of `old` replaced; every byte around it stays as it was.

    Raises ToolError: `invalid_utf8` if `data` is not text, `text_not_found`.
    """
    decode(data, path)
    replacement = encode(new)
    # Bytes, not characters: reading a file as text may change its line ends, and writing it back
    # would then change every line of it.
    wanted = old.encode(errors="surrogatepass")  # half a character is in no file: not found
    start = data.find(wanted) if wanted else -1
    if start < 0:
        raise file_error("text_not_found", path)
    return data[:start] + replacement + data[start + len(wanted) :]
