"""Is this command line one simple command, and with which words does it begin?"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Letters, digits and the few marks that neither a POSIX shell nor PowerShell gives a meaning of its
# own where they stand here. In quotes, spaces too. Whatever else is in a line: it is not simple.
_MARKS = r"-A-Za-z0-9_./:=+"  # the hyphen first: elsewhere it would make a range
_BARE = rf"[{_MARKS}][{_MARKS}@]*"
_WORD = rf"""{_BARE}|'[{_MARKS}@ ]+'|"[{_MARKS}@ ]+\""""
_SIMPLE = re.compile(rf" *(?!-){_BARE}(?: +(?:{_WORD}))* *")

# Words that begin something larger than a command.
_GRAMMAR = re.compile(
    "case|coproc|do|done|elif|else|esac|fi|for|function|if|in|select|then|time|until|while"
)


# region: simple
# region: words
def simple_words(command: str) -> tuple[str, ...] | None:
    """The words of a simple command; None if it is anything else.

    Anything else is: two commands (`;`, `&&`, `|`, a line break), an expansion (`$`, a backquote,
    `*`, `~`), a redirection, a backslash, a quote within a word, an assignment or a word of the
    shell's own grammar in front.
    """
    if not _SIMPLE.fullmatch(command):
        return None
    words = tuple(word.strip("'\"") for word in re.findall(_WORD, command))
    return None if "=" in words[0] or _GRAMMAR.fullmatch(words[0]) else words


# endregion: words


def begins_with(command: str, prefix: Sequence[str]) -> bool | None:
    """Whether a command begins with these words; None if that cannot be said. For an allow."""
    words = simple_words(command)
    return None if words is None else words[: len(prefix)] == tuple(prefix)


def may_begin_with(command: str, prefix: Sequence[str]) -> bool:
    """False only if a command surely begins with other words. For an ask and a deny.

    `/bin/RM` may be `rm`: where a program lies, and its case, do not matter here.
    """
    words = simple_words(command)
    return words is None or _program_first(words)[: len(prefix)] == _program_first(prefix)


# endregion: simple


def _program_first(words: Sequence[str]) -> tuple[str, ...]:
    first, *rest = words
    program = first.rpartition("/")[2].casefold().removesuffix(".exe")
    return (program, *(word.casefold() for word in rest))
