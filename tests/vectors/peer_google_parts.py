"""Our decision about signed parts of Gemini: a signature stays with the piece that it came with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from tests.vectors.peer_row import Json


def signed_parts_stay(given: Json, expect: Json) -> Json:
    """A signed piece is a part of its own, and what follows begins another one."""
    if given["api"] != "google-generative-ai":
        return expect
    parts = list(_runs(given))
    theirs = [(block["type"], block.get(block["type"])) for block in expect["content"]]
    if len(parts) == len(theirs) or _joined(parts) != theirs:
        return expect
    calls = iter([block for block in expect["content"] if block["type"] == "toolCall"])
    told = iter(_told_calls(expect))
    events, content = ["start"], []
    for number, (kind, pieces, signature) in enumerate(parts):
        if kind == "call":
            content.append(next(calls))
            events += [re.sub(r"@\d+", f"@{number}", event, count=1) for event in next(told)]
            continue
        text = "".join(pieces)
        signed = {f"{kind}Signature": signature} if signature else {}
        content.append({"type": kind, kind: text, **signed})
        events.append(f"{kind}_start@{number}")
        events += [f"{kind}_delta@{number}:{piece}" for piece in pieces]
        events.append(f"{kind}_end@{number}:{text}")
    return {**expect, "events": [*events, expect["events"][-1]], "content": content}


def _joined(parts: list[tuple[str, list[str], str]]) -> list[tuple[str, str | None]]:
    """What theirs would be: pieces of one kind are one part, signed or not."""
    joined: list[tuple[str, str | None]] = []
    for kind, runs in groupby(parts, key=lambda part: part[0]):
        texts = ["".join(pieces) for _, pieces, _ in runs]
        joined += (
            [("toolCall", None) for _ in texts] if kind == "call" else [(kind, "".join(texts))]
        )
    return joined


def _runs(given: Json) -> Iterator[tuple[str, list[str], str]]:
    """The parts of a reply: what kind each is, its pieces, its signature."""
    kind, pieces = "", list[str]()
    for part in _parts(given):
        text, signature = str(part.get("text") or ""), str(part.get("thoughtSignature") or "")
        now = "thinking" if part.get("thought") else "text"
        if kind and ("functionCall" in part or now != kind or signature):
            yield kind, pieces, ""
            kind, pieces = "", []
        if "functionCall" in part:
            yield "call", [], ""
        elif signature:
            yield now, [text] if text else [], signature
        elif text:
            kind, pieces = now, [*pieces, text]
    if kind:
        yield kind, pieces, ""


def _parts(given: Json) -> Iterator[Json]:
    for chunk in given["chunks"]:
        for candidate in (chunk.get("candidates") or []) if isinstance(chunk, dict) else []:
            yield from (candidate.get("content") or {}).get("parts") or []


def _told_calls(expect: Json) -> Iterator[list[str]]:
    events: list[str] = []
    for event in expect["events"]:
        if event.startswith("toolcall_"):
            events.append(event)
            if event.startswith("toolcall_end"):
                yield events
                events = []
