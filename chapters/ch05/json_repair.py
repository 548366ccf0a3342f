"""Two mistakes that models make in JSON, put right so that a screen can show the text."""

from __future__ import annotations

import re

STRING = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A string of JSON, or the beginning of one with which the text ends."""

INSIDE = re.compile(
    r"""
    (?P<control>[\x00-\x1f])
    | (?P<lone>[\ud800-\udfff])
    | (?P<whole>\\(?:["\\/bfnrt]
        | u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}
        | u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))
    | (?P<coming>\\(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?
        | u[0-9a-fA-F]{0,3})?\Z)
    | (?P<half>\\u[0-9a-fA-F]{4})
    | (?P<wrong>\\)
    """,
    re.VERBOSE,
)
SHORT = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


# region: repaired
def repaired(text: str) -> str:
    """`text` with the strings in it as JSON wants them. Only for a screen: it guesses.

    Raw control characters become escapes, a backslash before anything that is no escape is doubled,
    and half a surrogate pair becomes U+FFFD. An escape that is cut off by the end of the text is
    left: the rest of it is on its way. What is outside of strings is left as well.
    """
    return STRING.sub(lambda string: INSIDE.sub(_corrected, string.group()), text)


# endregion: repaired


def _corrected(found: re.Match[str]) -> str:
    character = found.group()
    match found.lastgroup:
        case "control":
            return SHORT.get(character) or f"\\u{ord(character):04x}"
        case "half" | "lone":
            return "\\ufffd"
        case "wrong":
            return "\\\\"
        case _:
            return character
