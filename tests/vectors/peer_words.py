"""Our decisions about what is said, thought and shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from tests.vectors import peer_places as places
from tests.vectors.peer_provider import whom
from tests.vectors.peer_row import Json

BEGINNING = "(The beginning of this conversation is missing.)"
NO_IMAGE = "(tool image omitted: model does not support images)"
IMAGE_TURN = "Tool result image:"
SYSTEM = ("system", "developer")
UNSIGNED = "skip_thought_signature_validator"
LONE = re.compile("[\ud800-\udfff]")


def system_apart(given: Json, expect: Json) -> Json:
    """The Responses API has a field for the system prompt; it is no item."""
    items = expect.get("input")
    if items and items[0].get("role") in SYSTEM:
        return {**expect, "input": items[1:], "instructions": items[0]["content"]}
    return expect


def nothing_blank(given: Json, expect: Json) -> Json:
    """What says nothing is not sent: empty messages, blank text of a model, thinking alone."""
    key, items = places.items_of(expect)
    if not key:
        return expect
    strict = whom(given)[0] == "anthropic-messages"
    kept = [_without_blanks(item, blank_users=not strict) for item in items]
    expect[key] = _without_idle_thoughts([item for item in kept if item is not None])
    return expect


def _without_blanks(item: Json, blank_users: bool) -> Json | None:
    if item.get("role") == "user":
        if item.get("content") == "" or item.get("content") == []:
            return item if item["content"] == "" and blank_users else None
        if isinstance(item.get("content"), str):
            return item if blank_users or item["content"].strip() else None
        blocks = item.get("content")
        if blocks is None or blank_users:
            return item
        blocks = [block for block in blocks if block.get("text", "x").strip()]
        return {**item, "content": blocks} if blocks else None
    if item.get("role") not in ("assistant", "model") or not isinstance(
        item.get("parts", item.get("content")), list
    ):
        return item
    name = "parts" if "parts" in item else "content"
    blocks = [block for block in item[name] if _says_something(block)]
    if all(places.is_thought(block) for block in blocks):
        return None
    return {**item, name: blocks}


def _says_something(block: Json) -> bool:
    return not places.is_text(block) or bool(block["text"].strip())


def _without_idle_thoughts(items: list[Json]) -> list[Json]:
    """Responses: a thought that led to nothing, because its reply ended with it."""
    kept: list[Json] = []
    for item in reversed(items):
        follows = kept[-1] if kept else {}
        if item.get("type") == "reasoning" and not places.by_the_model(follows):
            continue
        kept.append(item)
    return kept[::-1]


def a_person_begins(given: Json, expect: Json) -> Json:
    """A conversation that begins with a reply has lost its beginning, and says so."""
    key, items = places.items_of(expect)
    first = next((i for i, item in enumerate(items) if item.get("role") not in SYSTEM), None)
    if first is not None and places.by_the_model(items[first]):
        expect[key] = [*items[:first], places.person_says(key, BEGINNING), *items[first:]]
    return expect


# -- pictures


def text_then_pictures(given: Json, expect: Json) -> Json:
    """A result is one text, and pictures after it."""
    for result, _ in places.results(expect):
        for name in ("content", "output"):
            if isinstance(result.get(name), list):
                result[name] = _text_first(result[name])
    model = given.get("model")
    if isinstance(model, dict) and "image" not in model.get("input", ["image"]):
        for message in given["messages"]:
            if message["role"] == "toolResult" and isinstance(message.get("content"), list):
                theirs, ours = _without_pictures(message["content"])
                expect = places.texts(expect, _swap(theirs, ours))
    return _pictures_last(expect)


def _swap(old: str, new: str) -> Callable[[str], str]:
    return lambda text: new if text == old else text


def _text_first(blocks: list[Json]) -> list[Json]:
    texts = [block for block in blocks if "text" in block]
    rest = [block for block in blocks if "text" not in block]
    if texts:
        texts = [{**texts[0], "text": "\n".join([block["text"] for block in texts])}]
    return texts + rest


def _without_pictures(blocks: list[Json]) -> tuple[str, str]:
    runs: list[str] = []
    for kind, group in groupby(blocks, lambda block: block["type"]):
        runs += [NO_IMAGE] if kind == "image" else [block["text"] for block in group]
    said = "\n".join([block["text"] for block in blocks if block["type"] == "text"])
    shown = any(block["type"] == "image" for block in blocks)
    return "\n".join(runs), "\n".join(filter(None, [said, NO_IMAGE if shown else ""]))


def _pictures_last(expect: Json) -> Json:
    """Gemini: all results of a reply stand in one content, the pictures in one after it."""
    if "contents" not in expect:
        return expect
    contents: list[Json] = []
    for is_answer, group in groupby(expect["contents"], _is_answer):
        each = list(group)
        parts = [part for item in each for part in item["parts"]]
        shown = [part for part in parts if "inlineData" in part]
        if not is_answer or not shown:
            contents += each
            continue
        answers = [part for part in parts if "functionResponse" in part]
        contents.append({"role": "user", "parts": answers})
        contents.append({"role": "user", "parts": [{"text": IMAGE_TURN}, *shown]})
    expect["contents"] = contents
    return expect


def _is_answer(item: Json) -> bool:
    first = item["parts"][0] if item["parts"] else {}
    return "functionResponse" in first or first.get("text") == IMAGE_TURN


def a_word_for_a_signature(given: Json, expect: Json) -> Json:
    """Gemini: the first call of a reply that another model wrote has Google's word on it."""
    parts = [part for item in expect.get("contents") or () for part in item["parts"]]
    calls = [part for part in parts if "functionCall" in part]
    for reply in places.replies(given) if calls else ():
        asked = [block for block in places.blocks_given(reply) if block["type"] == "toolCall"]
        own, calls = calls[: len(asked)], calls[len(asked) :]
        if own and not places.at_home(given, reply) and "gemini" in whom(given)[2]:
            own[0]["thoughtSignature"] = UNSIGNED
    return expect


# -- spelling


def half_characters(given: Json, expect: Json) -> Json:
    """Half a surrogate pair leaves a mark: what was there cannot be guessed from nothing."""
    swaps: dict[str, str] = {}
    for text in _all_texts(given):
        if LONE.search(text):
            swaps |= dict.fromkeys([text, LONE.sub("", text)], LONE.sub("\ufffd", text))
    changed: Json = places.texts(expect, lambda text: swaps.get(text, text))
    return changed


def _all_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _all_texts(inner)


def cache_marks(given: Json, expect: Json) -> Json:
    """Cache marks belong to Anthropic's own API."""
    if whom(given)[0] == "anthropic-messages":
        return expect
    for item in places.items_of(expect)[1]:
        blocks = places.blocks_of(item)
        if any(block.pop("cache_control", None) for block in blocks) and len(blocks) == 1:
            item["content"] = blocks[0]["text"]
    for tool in expect.get("tools") or ():
        tool.pop("cache_control", None)
    return expect
