"""Where our streams differ from another agent library's, each as a function on what is expected."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from tests.vectors import peer_json
from tests.vectors.peer_endings import ending_of
from tests.vectors.peer_google_parts import signed_parts_stay
from tests.vectors.peer_row import Json
from tests.vectors.peer_stream import MINTED, REDACTED

END = re.compile(r"toolcall_end@(\d+):([^:]*):([^:]*):(.*)", re.DOTALL)
DELTA = re.compile(r"toolcall_delta@(\d+):(.*)", re.DOTALL)
OWN_ID = re.compile(r".*_<ms>_<n>|")
SAID = ("stop", "toolUse", "length")


# region: endings
def _end(given: Json, expect: Json, *, theirs_failed: bool, ours: str) -> Json:
    """The ending that we give, if theirs is of one kind and ours of another."""
    word, failed = ending_of(given, expect)
    kind = "failed" if failed else "whole" if word in SAID else "refused"
    if kind != ours or (expect["stopReason"] == "error") is not theirs_failed:
        return expect
    last = f"error:error:{word}" if failed else f"done:{word}"
    ended = {**expect, "events": [*expect["events"][:-1], last]}
    ended["stopReason"] = "error" if failed else word
    ended.pop("errorMessage", None)
    if failed:
        ended["errorMessage"] = word
    return ended


def errors_have_kinds(given: Json, expect: Json) -> Json:
    """An error says of which kind it is; what it says is for a person, and ours to word."""
    return _end(given, expect, theirs_failed=True, ours="failed")


def the_reason_is_the_end(given: Json, expect: Json) -> Json:
    """A reply has ended when the provider has said why; the mark after that adds nothing."""
    return _end(given, expect, theirs_failed=True, ours="whole")


def refused_is_a_reply(given: Json, expect: Json) -> Json:
    """A reply that was refused or filtered is a reply with that reason, and no error."""
    ended = _end(given, expect, theirs_failed=True, ours="refused")
    return _end(given, ended, theirs_failed=False, ours="refused")


def no_reason_no_reply(given: Json, expect: Json) -> Json:
    """Without a reason it is half a reply, at every provider."""
    return _end(given, expect, theirs_failed=False, ours="failed")


def calls_decide(given: Json, expect: Json) -> Json:
    """What a reply holds counts, and not what it is called; a limit is a limit beside calls too."""
    return _end(given, expect, theirs_failed=False, ours="whole")


def half_is_not_whole(given: Json, expect: Json) -> Json:
    """No part is said to be whole of a reply whose end nobody has told."""
    if expect["stopReason"] != "error":
        return expect
    *events, last = expect["events"]
    if given["api"] == "openai-completions":
        events = [event for event in events if not re.match(r"\w+_end@", event)]
    if given["api"] == "google-generative-ai":
        while events and re.match(r"(text|thinking)_end@", events[-1]):
            events.pop()
    return {**expect, "events": [*events, last]}


# endregion: endings


# region: pieces
def nothing_is_no_news(given: Json, expect: Json) -> Json:
    """A piece with nothing in it is not told."""
    kept, shown = [], list(expect.get("argumentsAfterEachDelta") or [])
    place = 0
    for event in expect["events"]:
        found = DELTA.fullmatch(event)
        if found and not found[2]:
            del shown[place : place + 1]
            continue
        place += bool(found)
        if not re.fullmatch(r"(text|thinking)_delta@\d+:", event):
            kept.append(event)
    changed = {**expect, "events": kept}
    if "argumentsAfterEachDelta" in expect:
        changed["argumentsAfterEachDelta"] = shown
    return changed


def no_made_up_text(given: Json, expect: Json) -> Json:
    """What the model did not write is not shown as its words."""
    events: list[str] = []
    for event, after in pairwise([*expect["events"], ""]):
        blank = re.fullmatch(r"(thinking_delta@\d+:)\n\n", event)
        if blank is None or after.startswith(blank[1]):
            events.append(event.replace(REDACTED, ""))
    return {**expect, "events": events}


def raw_arguments(given: Json, expect: Json) -> Json:
    """Arguments that are no JSON stay the text that they are; nobody completes them."""
    if expect["stopReason"] == "error":
        return expect
    raw = {part: text for part, text in _arguments(expect) if text.strip() and not _is_json(text)}
    events = []
    for event in expect["events"]:
        found = END.fullmatch(event)
        if found and int(found[1]) in raw:
            event = event.removesuffix(found[4]) + json.dumps(raw[int(found[1])])
        events.append(event)
    content = []
    for part, block in enumerate(expect["content"]):
        if part in raw:
            block = {name: block[name] for name in block if name != "argumentsError"}
            block["arguments"] = raw[part]
        content.append(block)
    return {**expect, "events": events, "content": content}


def _arguments(expect: Json) -> Iterator[tuple[int, str]]:
    texts: dict[int, str] = {}
    for event in expect["events"]:
        if found := DELTA.fullmatch(event):
            texts[int(found[1])] = texts.get(int(found[1]), "") + found[2]
    yield from texts.items()


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def ids_at_the_end(given: Json, expect: Json) -> Json:
    """A call is told with the id that it came with. What it lacks is given to the whole reply."""
    failed = expect["stopReason"] == "error"
    sent = iter(_sent_ids(given))
    events = []
    for event in expect["events"]:
        found = END.fullmatch(event)
        if found and given["api"] == "google-generative-ai":
            event = f"toolcall_end@{found[1]}:{next(sent, '')}:{found[3]}:{found[4]}"
        events.append(event)
    content = [
        {**block, "id": "" if failed else MINTED}
        if block["type"] == "toolCall" and OWN_ID.fullmatch(block["id"])
        else block
        for block in expect["content"]
    ]
    return {**expect, "events": events, "content": content}


def what_comes_at_once(given: Json, expect: Json) -> Json:
    """Arguments that come with the beginning of a call are told like any others."""
    inputs = iter(
        [
            (chunk.get("content_block") or {}).get("input")
            for chunk in given["chunks"]
            if isinstance(chunk, dict)
            and (chunk.get("content_block") or {}).get("type") == "tool_use"
        ]
    )
    told = {int(found[1]) for event in expect["events"] if (found := DELTA.fullmatch(event))}
    events = []
    for event in expect["events"]:
        found = END.fullmatch(event)
        if found and given["api"] == "anthropic-messages":
            sent = next(inputs, None)
            if sent and int(found[1]) not in told:
                events.append(f"toolcall_delta@{found[1]}:{json.dumps(sent)}")
        events.append(event)
    return {**expect, "events": events}


def as_previews(given: Json, expect: Json) -> Json:
    """What is shown of arguments while they arrive follows the decisions about previews."""
    if "argumentsAfterEachDelta" not in expect:
        return expect
    shown, texts = [], dict[str, str]()
    deltas = [found for event in expect["events"] if (found := DELTA.fullmatch(event))]
    for found, value in zip(deltas, expect["argumentsAfterEachDelta"], strict=False):
        text = texts[found[1]] = texts.get(found[1], "") + found[2]
        preview: Json = {"value": value}
        for ours in peer_json.OURS.values():
            preview = ours({"text": text}, preview)
        shown.append(preview["value"])
    return {**expect, "argumentsAfterEachDelta": shown}


def _sent_ids(given: Json) -> Iterator[Any]:
    for chunk in given["chunks"]:
        candidates = (chunk.get("candidates") or []) if isinstance(chunk, dict) else []
        for candidate in candidates:
            for part in (candidate.get("content") or {}).get("parts") or []:
                if call := part.get("functionCall"):
                    yield call.get("id") or ""


# endregion: pieces


OURS: dict[str, Callable[[Json, Json], Json]] = {
    "errors-have-kinds": errors_have_kinds,
    "the-reason-is-the-end": the_reason_is_the_end,
    "refused-is-a-reply": refused_is_a_reply,
    "no-reason-no-reply": no_reason_no_reply,
    "calls-decide": calls_decide,
    "half-is-not-whole": half_is_not_whole,
    "nothing-is-no-news": nothing_is_no_news,
    "no-made-up-text": no_made_up_text,
    "raw-arguments": raw_arguments,
    "ids-at-the-end": ids_at_the_end,
    "what-comes-at-once": what_comes_at_once,
    "as-previews": as_previews,
    "signed-parts-stay": signed_parts_stay,
}
"""The decisions about streams, in the order in which they are applied."""
