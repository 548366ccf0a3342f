"""What is waited for, and why, in a few words."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import ceil

from shared.errors import ProviderError

# What an error inside of an answer that begins well says of itself; the first that fits counts. No
# word of the provider's is shown: a server that repeats what it was sent repeats the key.
SAID = (
    (r"(?i)rate.?limit|too.?many|resource.?exhausted", "rate limit"),
    (r"(?i)overload|unavailable|capacity|busy", "overloaded"),
    (r"(?i)time.?out|timed.?out|deadline", "time-out"),
)
WORDS = {
    "connection": "connection failed",
    "timeout": "time-out",
    "incomplete_stream": "broken off",
    "bad_response": "unreadable answer",
}

# What a line says about a wait after so many seconds.
About = Callable[[float], str]


def for_the_first_word(seconds: float) -> str:
    """Nothing of a reply has come yet."""
    return with_seconds("for the first word", seconds)


def for_more(seconds: float) -> str:
    """Something of a reply has come, and it is not over."""
    return with_seconds("for more", seconds)


def to_try_again(wait: float, why: str) -> About:
    """A request failed, and is sent again after `wait` seconds."""

    def about(seconds: float) -> str:
        if seconds >= wait:
            return for_the_first_word(seconds - wait)
        tenths = ceil((wait - seconds) * 10 - 1e-6)  # what is left of a tenth is a tenth
        return f"{amount(tenths / 10)} to try again ({why})"

    return about


def with_seconds(what: str, seconds: float) -> str:
    """`what`, and how long it has taken, if that is worth a word."""
    return ", ".join(filter(None, [what, f"{seconds:,.0f} s" if seconds >= 1 else ""]))


def reason(error: BaseException) -> str:
    """Why a request failed, in a few words of our own."""
    if not isinstance(error, ProviderError):
        return type(error).__name__
    said = f"{error.code} {error.type}"
    match error.status or 0:
        case 429:
            return "rate limit"
        case 503 | 529:
            return "overloaded"
        case status if status >= 400:
            return f"HTTP {status}"
    if number := re.fullmatch("[45][0-9]{2}", error.code or ""):
        return reason(ProviderError("", kind=error.kind, status=int(number[0])))
    if error.kind in WORDS:
        return WORDS[error.kind]
    found = (words for pattern, words in SAID if re.search(pattern, said))
    return next(found, "error at the provider")


def amount(seconds: float) -> str:
    """A time to wait, as a person says it."""
    return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:,.0f} s"
