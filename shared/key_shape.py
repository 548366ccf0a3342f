"""What the keys of providers look like, to recognise one in a place where no key belongs."""

from __future__ import annotations

import re

# The beginnings that providers give their keys. No model is called like this.
KEY_SHAPE = (
    r"(?:sk-|csk-|gsk_|xai-|nvapi-)[^\s\"'<>]+"
    r"|(?:hf_|AIza|ghp_|github_pat_|pplx-)[A-Za-z0-9_-]{20,}"
    r"|bearer\s+\S{8,}"
)

_KEY = re.compile(KEY_SHAPE, re.IGNORECASE)
_PLAIN_NAME = re.compile(r"WORKBOOK_[A-Z_]{1,30}")


def looks_like_a_key(value: str) -> bool:
    """Whether `value` begins as keys do."""
    return _KEY.match(value.strip()) is not None


def safe_name(name: str) -> str:
    """The name of a variable, cut to `WORKBOOK_…` if somebody may have typed a key into it.

    A name is made of capitals. A key has digits or small letters too.
    """
    return name if _PLAIN_NAME.fullmatch(name) else "WORKBOOK_…"
