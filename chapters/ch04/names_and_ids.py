"""Tool names and call ids in the spelling that a provider takes."""

from __future__ import annotations

import hashlib
import re

from chapters.ch04.provider import IdRule

_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")


def wire_name(name: str, limit: int = 64) -> str:
    """`name`, or a legal name that stands for it and for no other.

    The same name always gives the same result, so calls in a history and tools on offer agree. The
    way back is a look-up among the tools on offer.
    """
    if re.fullmatch(rf"[A-Za-z0-9_-]{{1,{limit}}}", name):
        return name
    return f"{_ILLEGAL.sub('_', name)[: limit - 9]}_{_digest(name)}"


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

    def assign(self, call_id: str) -> str:
        """The id to send for a call that has `call_id` in our history."""
        wanted = call_id if self._legal.fullmatch(call_id) else self._cleaned(call_id)
        found, number = wanted, 0
        while found in self._taken:
            number += 1
            found = f"{wanted[: self._rule.limit - 9]}_{_digest(f'{call_id}/{number}')}"
        self._taken.add(found)
        return found

    def _cleaned(self, call_id: str) -> str:
        # A character outside the BMP counts as the two units it has in UTF-16, in which ids are
        # measured by the services that write such ones.
        plain = _ILLEGAL.sub(lambda match: "__" if match.group() > "\uffff" else "_", call_id)
        return plain[: self._rule.limit].rstrip(self._rule.not_last) or "call"


# endregion: ids


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
