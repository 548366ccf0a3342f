"""The environment of a child process: what it needs to work, without anybody's keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

OURS = "WORKBOOK_"

CREDENTIAL_WORDS = re.compile(
    "KEYS?|APIKEYS?|TOKENS?|SECRETS?|PASS|PASSWD|PASSWORDS?|PGPASSWORD|PWD|PASSPHRASE"
    "|CREDS?|CREDENTIALS?|PAT"
)
HARMLESS = re.compile(r"PWD|GIT_CONFIG_KEY_\d+")  # a directory; a setting's name, which git needs

# The key of a local server is often a word like `ollama`, and a word may be part of an innocent
# value such as PATH. A secret of this length or more is looked for inside values, a shorter one has
# to be the whole value.
LONG_SECRET = 16


# region: environment
def child_environment(environ: Mapping[str, str], secrets: Iterable[str]) -> dict[str, str]:
    """`environ` without every variable that is ours, is named like a credential, or holds a secret.

    This keeps keys out of what a command prints or passes on. It is no lock: a command that runs as
    you can read whatever you can read.
    """
    known = [secret for secret in secrets if secret.strip()]
    return {
        name: value
        for name, value in environ.items()
        if not (
            name.upper().startswith(OURS)
            or names_credential(name)
            or any(holds(value, secret) for secret in known)
        )
    }


def names_credential(name: str) -> bool:
    """True if a word of `name` says credential: OPENAI_API_KEY does, KEYBOARD does not."""
    upper = name.upper()
    if HARMLESS.fullmatch(upper):
        return False
    return any(map(CREDENTIAL_WORDS.fullmatch, re.split(r"[^A-Z0-9]+", upper)))


def holds(value: str, secret: str) -> bool:
    """True if `value` gives `secret` away: contains a long one, equals a short one."""
    return secret in value if len(secret) >= LONG_SECRET else secret == value


# endregion: environment
