"""Our decisions about ids of calls and items."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from tests.vectors import peer_places as places
from tests.vectors.peer_messages import text_item
from tests.vectors.peer_provider import COMPOSITE_IDS, whom
from tests.vectors.peer_row import Json

LIMITS = {"openai-completions": 40}


def legal_ids(given: Json, expect: Json) -> Json:
    """An id is legal for whom it is sent to, also where that is who wrote it."""
    return _with_ids(given, expect, "legal")


def ids_are_cut(given: Json, expect: Json) -> Json:
    """An id that is too long is cut. A digest only tells two calls apart; any good one does."""
    if given.get("function") == "shortHash":
        return {"hash": _digest(f"{given['text']}/1")}
    return _with_ids(given, expect, "cut")


def unique_ids(given: Json, expect: Json) -> Json:
    """No two calls of a request have one id."""
    return _with_ids(given, expect, "unique")


def no_invented_ids(given: Json, expect: Json) -> Json:
    """An item of the Responses API has the id that the API gave it, or none."""
    if whom(given)[0] != "openai-responses":
        return expect
    known = set(_known_items(given))
    if "itemId" in expect and expect["itemId"] not in known:
        expect["itemId"] = None
    key, items = places.items_of(expect)
    if key == "input":
        expect[key] = [_own_item(item, known) for item in items]
    return expect


def _known_items(given: Json) -> Iterator[str]:
    if "id" in given and given["sourceMessage"] == given["target"]:
        yield given["id"].partition("|")[2]
    for reply in places.replies(given):
        if places.at_home(given, reply):
            for block in places.blocks_given(reply):
                if block["type"] == "toolCall":
                    yield block["id"].partition("|")[2]
                elif block["type"] == "text":
                    yield text_item(block.get("textSignature") or "").get("id", "")


def _own_item(item: Json, known: set[str]) -> Json:
    if item.get("type") == "message" and item["id"] not in known:
        return {"role": "assistant", "content": item["content"][0]["text"]}
    if item.get("type") == "function_call" and item.get("id") not in known:
        return {key: value for key, value in item.items() if key != "id"}
    return item


def _with_ids(given: Json, expect: Json, reason: str) -> Json:
    sites = list(places.calls(expect))
    wanted = list(_our_ids(given))
    if len(sites) != len(wanted):
        return expect
    answers = list(places.results(expect))
    told = [site[key] for site, key in sites]
    for (site, key), old, (ours, why) in zip(sites, told, wanted, strict=True):
        answer = next((place for place in answers if place[0][place[1]] == old), None)
        if answer:
            answers.remove(answer)
        if old is None or why != reason:
            continue
        site[key] = ours
        if answer:
            answer[0][answer[1]] = ours
    return expect


def _our_ids(given: Json) -> Iterator[tuple[str, str]]:
    """Our id of each call, and which decision it is due to; "" if both libraries agree."""
    api, provider, _ = whom(given)
    limit, taken = LIMITS.get(api, 64), set[str]()
    for call_id, at_home in _ids_given(given):
        if api == "openai-responses" and provider in COMPOSITE_IDS:
            call_id = call_id.partition("|")[0]
        wanted, why = call_id, ""
        if not _is_legal(call_id, api, provider):
            plain = re.sub(r"[^A-Za-z0-9_-]", lambda m: "_" * (1 + (m[0] > "\uffff")), call_id)
            if len(plain) > limit:
                hashed = api == "openai-completions" and plain != call_id
                why = "cut" if at_home or hashed else ""
            elif at_home or not plain.rstrip("_"):
                why = "legal"
            wanted = plain[:limit]
            if api in ("openai-responses", "openai-completions"):
                wanted = wanted.rstrip("_")
            wanted = wanted or "call"
        found, number = wanted, 0
        while found in taken:
            number, why = number + 1, "unique"
            found = f"{wanted[: limit - 9]}_{_digest(f'{call_id}/{number}')}"
        taken.add(found)
        yield found, why


def _ids_given(given: Json) -> Iterator[tuple[str, bool]]:
    """The id of each call, and whether it goes back to the model that wrote it."""
    if "id" in given:
        yield given["id"], given["sourceMessage"] == given["target"]
    for reply in places.replies(given):
        for block in places.blocks_given(reply):
            if block["type"] == "toolCall":
                yield block["id"], places.at_home(given, reply)


def _is_legal(call_id: str, api: str, provider: str) -> bool:
    if api == "openai-completions":
        short = len(call_id) <= 40 or provider != "openai"
        return bool(call_id) and "|" not in call_id and short
    legal = bool(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", call_id))
    return legal and not (api == "openai-responses" and call_id.endswith("_"))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
