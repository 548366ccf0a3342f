"""Our decisions about calls and their results."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tests.vectors import peer_places as places
from tests.vectors.peer_row import Json

THEIR_FILLER = "No result provided"
OUR_FILLER = "Error [interrupted]: There is no result: the run was stopped before this call ended."


def interrupted(given: Json, expect: Json) -> Json:
    """A call that nobody answered is answered with a failure in our form."""
    changed: Json = places.texts(expect, lambda text: OUR_FILLER if text == THEIR_FILLER else text)
    return changed


def one_result_each(given: Json, expect: Json) -> Json:
    """Each call has one result, right behind it, in the order of the calls; the rest is gone."""
    key, items = places.items_of(expect)
    nameless = key == "contents" and not any(places.calls(items))
    if nameless:
        _name(given, items)
    if not any(places.results(items)):
        return expect
    ordered: list[Json] = []
    said: list[Json] = []
    for item in _one_by_one(items):
        # A reply ends a round; what a person says does not: a late result still finds its call.
        if places.by_the_model(item) and any(_result(each) for each in said):
            ordered += _round(said)
            said = []
        said.append(item)
    expect[key] = _together([*ordered, *_round(said)])
    if nameless:
        for one, _ in (*places.calls(expect), *places.results(expect)):
            del one["id"]
    return expect


def _name(given: Json, contents: list[Json]) -> None:
    """Give calls and results the ids that the row has for them: to Gemini none are sent."""
    parts = [part for item in contents for part in item["parts"]]
    called = [
        block["id"]
        for reply in places.replies(given)
        for block in places.blocks_given(reply)
        if block["type"] == "toolCall"
    ]
    answered = [m["toolCallId"] for m in given.get("messages", ()) if m["role"] == "toolResult"]
    missing = [call_id for call_id in called if call_id not in answered]
    for part in parts:
        if "functionCall" in part:
            part["functionCall"]["id"] = called.pop(0)
        elif "functionResponse" in part:
            source = missing if _is_filler(part) else answered
            part["functionResponse"]["id"] = source.pop(0)


def _round(items: list[Json]) -> list[Json]:
    """Replies, results and what was said, as replies, their results, what was said."""
    rest = [item for item in items if not _result(item)]
    results = [item for item in items if _result(item)]
    replies = max((i + 1 for i, item in enumerate(rest) if places.by_the_model(item)), default=0)
    answers = []
    for call, key in places.calls(rest):
        mine = [item for item in results if _result(item) == call[key]]
        mine.sort(key=_is_filler)
        if mine:
            answers.append(mine[0])
            results.remove(mine[0])
    return [*rest[:replies], *answers, *rest[replies:]]


def _result(item: Json) -> str | None:
    """The id of the call that an item is the result of."""
    if places.by_the_model(item):
        return None
    return next((result[key] for result, key in places.results(item)), None)


def _is_filler(item: Json) -> bool:
    return THEIR_FILLER in str(item)


def _one_by_one(items: list[Json]) -> Iterator[Json]:
    for item in items:
        blocks = places.blocks_of(item)
        if item.get("role") == "user" and blocks and _is_result_block(blocks[0]):
            name = "parts" if "parts" in item else "content"
            yield from ({**item, name: [block]} for block in blocks)
        else:
            yield item


def _together(items: list[Json]) -> list[Json]:
    grouped = []
    for is_result, group in groupby(items, lambda item: _has_result_block(item)):
        each = list(group)
        if is_result:
            name = "parts" if "parts" in each[0] else "content"
            blocks = [block for item in each for block in item[name]]
            grouped.append({**each[0], name: blocks})
        else:
            grouped += each
    return grouped


def _has_result_block(item: Json) -> bool:
    return any(_is_result_block(block) for block in places.blocks_of(item))


def _is_result_block(block: Json) -> bool:
    return block.get("type") == "tool_result" or "functionResponse" in block
