"""Tool names and call ids in the spelling that a provider takes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator

from chapters.ch04.provider import IdRule

LEGAL_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
TRIES = 1_000  # after that, there is no id that fits


def wire_name(name: str, limit: int = 64) -> str:
    """`name`, or a legal name that stands for it and for no other.

    The same name always gives the same result, so calls in a history and tools on offer agree. The
    way back is a look-up among the tools on offer.
    """
    if len(name) <= limit and LEGAL_NAME.fullmatch(name):
        return name
    return f"{_ILLEGAL.sub('_', name)[: limit - 9]}_{_digest(name)}"[-limit:]


# region: ids
class CallIds:
    """Gives every call of a history an id that the provider takes and that no other call has.

    A legal id that is still free stays as it is. The result depends on the ids that came before and
    on nothing else, so a history that has grown is spelled as it was before.
    """

    def __init__(self, rule: IdRule) -> None:
        self._rule = rule
        self._legal = re.compile(rule.legal)
        self._taken: set[str] = set()
        self._seen: Counter[str] = Counter()

    def assign(self, call_id: str) -> str:
        """The id to send for a call that has `call_id` in our history."""
        for found in self._candidates(call_id):
            if found not in self._taken and self._legal.fullmatch(found):
                self._taken.add(found)
                return found
        raise ValueError(f"no id made of hexadecimal digits fits the rule {self._rule}")

    def _candidates(self, call_id: str) -> Iterator[str]:
        """The id, then ids made of it, then others, until one is legal and free."""
        plain = self._cleaned(call_id)
        yield from (call_id, plain)
        for _ in range(TRIES):
            self._seen[call_id] += 1
            digest = _digest(f"{call_id}/{self._seen[call_id]}", 32)
            yield f"{plain[: max(0, self._rule.limit - 9)]}_{digest[:8]}"
            yield digest[: self._rule.limit]

    def _cleaned(self, call_id: str) -> str:
        # A character outside the BMP counts as the two units it has in UTF-16, in which ids are
        # measured by the services that write such ones.
        plain = _ILLEGAL.sub(lambda match: "__" if match.group() > "\uffff" else "_", call_id)
        return plain[: self._rule.limit].rstrip(self._rule.not_last) or "call"


# endregion: ids


def _digest(text: str, length: int = 8) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:length]
