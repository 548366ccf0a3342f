"""A deny-list of words, as many first attempts have it. The chapter walks around it."""

from __future__ import annotations

# region: naive
DANGEROUS = ("rm ", "rmdir", "mkfs", "dd if=", "> /dev/", "shutdown")


def looks_dangerous(command: str) -> bool:
    """True if the command contains a word of the list."""
    return any(word in command for word in DANGEROUS)


# endregion: naive
