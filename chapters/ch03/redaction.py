"""Leaving secrets out of what is written down, by the names they go by."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

REDACTED = "[redacted]"

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_WORDS = {"key", "keys", "auth", "pwd", "pin", "pat", "otp", "totp", "jwt", "sid", "dsn"}
_PARTS = re.compile(
    "apikey|accesskey|priv(ate)?key|sshkey|passw|passphrase|passcode|secret|token|credential"
    "|authorization|oauth|cookie|bearer|sess(ion)?id|csrf"
)
# Words of these, and of nothing else, that only sound like a secret.
_HARMLESS = re.compile(
    "(?<![a-z])(max_?tokens|tokeni[sz]ers?|secretar(y|ies)|sort_?keys?|public_?keys?)(?![a-z])"
)


# region: redacted
def redacted(value: Any, name: str = "") -> Any:
    """`value`, with whatever a key calls a secret replaced, however deep it lies.

    Text that is JSON is looked into as well. A secret within other text, as in a command line, has
    no name to know it by and stays.
    """
    if is_secret(name):
        return REDACTED
    if isinstance(value, Mapping):
        return {key: redacted(inner, str(key)) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted(inner) for inner in value]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return _redacted_json(value)
    return value


def is_secret(name: str) -> bool:
    """True for `api_key`, `apiKey`, `X-Auth-Token` and the like; false for `keyboard`."""
    spelled = "_".join(word.lower() for word in _WORD.findall(name))
    words = _HARMLESS.sub("", spelled).split("_")
    if words[-1] == "pass":  # `db_pass`, but not `pass_count`
        return True
    return not _WORDS.isdisjoint(words) or bool(_PARTS.search("".join(words)))


# endregion: redacted


def _redacted_json(text: str) -> str:
    """JSON as it was written if there is no secret in it; rewritten without them if there is."""
    found = False

    def named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:  # every pair: a key may come twice
        nonlocal found
        clean = [(key, redacted(value, key)) for key, value in pairs]
        found = found or clean != pairs
        return dict(clean)

    try:
        value = json.loads(text, object_pairs_hook=named)
        clean = redacted(value)  # a list may hold text that is JSON
        return json.dumps(clean, ensure_ascii=False) if found or clean != value else text
    except ValueError:
        return text
    except RecursionError:
        return REDACTED
