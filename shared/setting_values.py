"""What an address, a key and a model's name may look like. No message repeats the value."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from shared.key_shape import looks_like_a_key
from shared.setting import MODEL_OPTION, Found, wrong

HUMAN = "human"  # the name of the model that is you: `--model human`
PLACEHOLDER = re.compile(r"put-your-.*-here")

# What clients add to an address themselves.
PATH = re.compile(r"(/chat/completions|/responses|/messages|/models)(?:/[^/]+)?$")


def without_placeholder(name: str, found: Found) -> None:
    """Raise ConfigError if the value was copied from the example and never filled in."""
    if PLACEHOLDER.search(found[name].value):
        raise wrong(name, found, "still holds the placeholder. Put your own value there.")


def base_url(name: str, found: Found, key_variable: str) -> str:
    """The address. Raises ConfigError."""
    url = found[name].value.strip()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port  # an impossible port raises here
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise wrong(name, found, "is not an address. It looks like https://api.example.com/v1.")
    if port == 0:
        raise wrong(name, found, "has port 0, where no server can be. Write its real port.")
    if parts.username or parts.password:
        raise wrong(name, found, f"holds a user name. Credentials belong into {key_variable}.")
    if parts.query or parts.fragment:
        raise wrong(name, found, "must end before the ? or #.")
    if added := PATH.search(parts.path.rstrip("/")):
        raise wrong(name, found, f"must end before {added[1]}: the client adds that.")
    return url


def api_key(name: str, found: Found) -> str:
    """The key. Raises ConfigError."""
    key = found[name].value
    if not re.fullmatch(r"[!-~]+", key):
        raise wrong(
            name,
            found,
            "holds a space, a line break or a character that no key has. Copy the key again, "
            "without anything before or after it.",
        )
    return key


def model(name: str, found: Found, key_variable: str) -> str:
    """The name of the model. Raises ConfigError."""
    value = found[name].value.strip()
    if not value:
        raise wrong(name, found, "is empty. Write the name of a model.")
    if looks_like_a_key(value) or (len(value) >= 16 and value == found[key_variable].value):
        raise wrong(
            name,
            found,
            f"holds what looks like a key. A key belongs into {key_variable}; the name of a model "
            "is in the provider's list of models.",
        )
    if not value.isprintable():
        raise wrong(name, found, "holds a character that no model name has. Write it again.")
    if value == HUMAN and name != MODEL_OPTION:
        raise wrong(name, found, "is 'human', which works as --model human only.")
    return value
