"""The end of a streamed response: how it ended, and which of its items are those that came."""

from __future__ import annotations

from collections.abc import Mapping

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.wire import Json, words
from chapters.ch05.responses_items import Item
from chapters.ch05.responses_texts import CALLS

GOOD = "completed"


def stricter(response: Json, other: Json) -> Json:
    """The response, ended as the other one if that has ended badly and this one has not.

    Where two endings disagree the bad one counts, and one that came is not taken back.
    """
    status, said = words(response, "status"), words(other, "status")
    if status not in ("", GOOD) or said in ("", GOOD):
        return response
    details = other.get("incomplete_details") or response.get("incomplete_details")
    return {**response, "status": said, "incomplete_details": details}


def counterparts(
    came: list[Item], named: Mapping[str, Item], output: list[Json]
) -> list[Item | None]:
    """For each item of the whole response the one that came before, None if that was left out.

    Names tell, then places: a server may leave out an item, or all names. Raises UnreadableReply if
    two calls say that they have one place: both of them would run.
    """
    left = list(came)
    found = [pop_named(left, named, item) for item in output]
    return [known or pop_like(left, at, output[at]) for at, known in enumerate(found)]


def pop_named(left: list[Item], named: Mapping[str, Item], item: Json) -> Item | None:
    """The item with the same id, or else the call with the same `call_id`."""
    call, known = words(item, "call_id"), named.get(words(item, "id"))
    like = [each for each in left if each.kind == words(item, "type")]
    found = [each for each in like if each is known]
    found += [each for each in like if call and each.call == call]
    if not found:
        return None
    left.remove(found[0])
    return found[0]


def pop_like(left: list[Item], index: int, item: Json) -> Item | None:
    """The item that has the place of one in the whole response, or, if it is no call, its kind.

    Raises UnreadableReply if two calls say that they have one place: both of them would run.
    """
    kind = words(item, "type")
    like = [each for each in left if each.kind == kind]
    found = [each for each in like if each.index == index] or ([] if kind in CALLS else like)
    if not found:
        return None
    if kind in CALLS and found[0].call and words(item, "call_id"):
        raise UnreadableReply("two calls have the same place in the response")
    left.remove(found[0])
    return found[0]


def same_item(one: Json, other: Json) -> bool:
    """Whether two events bring the same item, and not two that share their place."""
    names = [(words(one, name), words(other, name)) for name in ("type", "id", "call_id")]
    return one == other or (bool(names[1][0]) and all(mine == theirs for mine, theirs in names))
