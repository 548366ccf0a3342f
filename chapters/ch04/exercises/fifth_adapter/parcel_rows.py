"""A set of fixtures for Parcel in the format of the chapter's suite, with new words every time."""

from __future__ import annotations

import json
from pathlib import Path
from random import randint
from secrets import token_hex
from typing import Any

Json = dict[str, Any]

READ, REREAD, WROTE = randint(10, 99), randint(1_000, 9_999), randint(100, 999)
SPENT = {"read": READ, "wrote": WROTE}
USAGE = {"input": READ, "output": WROTE}
WORD, CITY, SEAL = (f"{name}-{token_hex(3)}" for name in ("word", "city", "seal"))


def ask(number: int, city: Any = CITY, ability: str = "get_weather") -> Json:
    """A parcel with a call."""
    return {"ask": number, "ability": ability, "with": {"city": city}}


def call(city: str = CITY, status: str = "ok", name: str = "get_weather") -> Json:
    """What shall become of it."""
    return {"id": None, "name": name, "status": status, "arguments": {"city": city}}


def answer(
    what: str,
    *parcels: Json,
    ended: Any = "answered",
    text: str = "",
    calls: tuple[Json, ...] = (),
    stop: str | None = "end_turn",
    error: Json | None = None,
    spent: Any = SPENT,
    usage: Json | None = USAGE,
    **more: Any,
) -> Json:
    """A row of the mode `nonstream`, with its body."""
    message: Json = {"text": text, "tool_calls": list(calls)}
    expect = {"message": message, "stop_reason": stop, "error": error}
    if usage:
        message["usage"] = usage
    if echo := more.pop("echo", None):
        expect["echo"] = echo
    if "reasoning" in more:
        message["reasoning"] = more.pop("reasoning")
    body = {"parcels": list(parcels), "ended": ended, "spent": spent, **more}
    return {"mode": "nonstream", "what": what, "expect": expect, "body": body}


def failure(what: str, body: Any, **error: Any) -> Json:
    """A row of the mode `nonstream` that ends in an error."""
    message: Json = {"text": "", "tool_calls": []}
    expect = {"message": message, "stop_reason": None, "error": error}
    return {"mode": "nonstream", "what": what, "expect": expect, "body": body}


TEXTS = (
    answer("text", {"text": WORD}, text=WORD),
    answer("texts, joined", {"text": WORD}, {"text": " and more"}, text=f"{WORD} and more"),
    answer("a kind of parcel that came later", {"map": {}}, {"text": WORD}, text=WORD),
    answer("no usage", {"text": WORD}, text=WORD, spent=None, usage=None),
    answer(
        "usage with cached tokens, which are not in `read`",
        {"text": WORD},
        text=WORD,
        spent={**SPENT, "reread": REREAD},
        usage={"input": READ + REREAD, "output": WROTE},
    ),
)

CALLS = (
    answer("one call", ask(1), ended="asking", calls=(call(),), stop="tool_use"),
    answer(
        "text, then two calls of one ability",
        {"text": WORD},
        ask(1),
        ask(2, "Oslo"),
        ended="asking",
        text=WORD,
        calls=(call(), call("Oslo")),
        stop="tool_use",
    ),
    answer(
        "a call without arguments",
        {"ask": 1, "ability": "get_time"},
        ended="asking",
        calls=({"id": None, "name": "get_time", "status": "ok", "arguments": {}},),
        stop="tool_use",
    ),
    answer(
        "arguments that are no object",
        {"ask": 1, "ability": "get_weather", "with": [CITY]},
        ended="asking",
        calls=({"id": None, "name": "get_weather", "status": "bad_arguments"},),
        stop="tool_use",
    ),
    answer(
        "an ability that was not offered",
        ask(1, ability="launch"),
        ended="asking",
        calls=(call(status="unknown_tool", name="launch"),),
        stop="tool_use",
    ),
    answer("a call, and yet `answered`", ask(1), calls=(call(),), stop="tool_use"),
    answer("`asking`, and yet no call", {"text": WORD}, ended="asking", text=WORD),
    answer(
        "a sealed thought, which goes back",
        {"thought": WORD, "seal": SEAL},
        ask(1),
        ended="asking",
        calls=(call(),),
        stop="tool_use",
        reasoning=WORD,
        echo=[{"thought": WORD, "seal": SEAL}],
    ),
)

STOPS = (
    answer("cut off in a text", {"text": WORD}, ended="full", text=WORD, stop="max_tokens"),
    answer(
        "cut off in a call",
        ask(1),
        ended="full",
        calls=(call(status="truncated"),),
        stop="max_tokens",
    ),
    answer("refused", {"text": WORD}, ended="declined", text=WORD, stop="refusal"),
    answer("filtered", ended="withheld", stop="content_filter"),
    answer(
        "a stop word that came later", {"text": WORD}, ended="napping", text=WORD, stop="unknown"
    ),
    answer(
        "no stop word",
        {"text": WORD},
        ended=None,
        stop=None,
        error={"kind": "incomplete_stream", "retryable": True},
    ),
)

ERRORS = (
    failure(
        "an error in a 200, with a turn around it",
        {"parcels": [], "ended": "failed", "error": {"code": "overloaded", "message": WORD}},
        kind="provider",
        code="overloaded",
        retryable=True,
    ),
    failure(
        "an error in a 200 that stays",
        {"error": {"code": "bad_request", "message": WORD}},
        kind="provider",
        code="bad_request",
        retryable=False,
    ),
    failure("no parcels", {"ended": "answered"}, kind="bad_response", retryable=True),
    failure("parcels that are no list", {"parcels": WORD}, kind="bad_response", retryable=True),
    failure("a list", [{"text": WORD}], kind="bad_response", retryable=True),
    failure("HTML", f"<html>{WORD}</html>", kind="bad_response", retryable=True),
)


def person(text: str = WORD) -> Json:
    """A turn of the person."""
    return {"by": "person", "says": text}


def model(*parcels: Json) -> Json:
    """A turn of the model."""
    return {"by": "model", "parcels": list(parcels)}


def desk(*answers: tuple[int, str, bool]) -> Json:
    """A turn of the desk."""
    said = [{"to": to, "text": text, "failed": failed} for to, text, failed in answers]
    return {"by": "desk", "answers": said}


OURS = "(whatever the agent says in such a case)"


def history(what: str, bad: list[Json], good: list[Json] | None = None) -> Json:
    """A row of the mode `request`: an exchange as it is, and as it has to be sent."""
    rejects = {"status": 400, "body": {"error": {"code": "not_taken", "message": WORD}}}
    body = {"bad": bad, "rejects": rejects, "good": good or bad}
    return {"mode": "request", "what": what, "expect": {"request": "good"}, "body": body}


HISTORIES = (
    history("text", [person(), model({"text": CITY}), person("And then?")]),
    history(
        "two rounds, each numbered from 1",
        [
            person(),
            model({"text": WORD}, ask(1), ask(2)),
            desk((1, "sun", False), (2, "rain", False)),
            model(ask(1)),
            desk((1, "snow", False)),
            person("Thanks."),
        ],
    ),
    history(
        "the error flag",
        [person(), model(ask(1), ask(2)), desk((1, WORD, True), (2, WORD, False))],
    ),
    history(
        "thoughts with their seals",
        [person(), model({"thought": WORD, "seal": SEAL}, ask(1)), desk((1, WORD, False))],
    ),
    history(
        "a call without an answer",
        [person(), model(ask(1), ask(2)), desk((2, WORD, False)), person("stop")],
        [person(), model(ask(1), ask(2)), desk((1, OURS, True), (2, WORD, False)), person("stop")],
    ),
    history(
        "an answer to nothing, and one too many",
        [person(), model(ask(1)), desk((1, WORD, False), (1, "again", False), (7, "x", False))],
        [person(), model(ask(1)), desk((1, WORD, False))],
    ),
    history(
        "a person between asks and answers",
        [person(), model(ask(1)), person("wait"), desk((1, WORD, False))],
        [person(), model(ask(1)), desk((1, WORD, False)), person("wait")],
    ),
    history(
        "somebody who says nothing",
        [person(), model({"text": WORD}), person(" "), person("go")],
        [person(), model({"text": WORD}), person("go")],
    ),
    history(
        "an empty answer",
        [person(), model(ask(1)), desk((1, "", False))],
        [person(), model(ask(1)), desk((1, OURS, False))],
    ),
)

ROWS = (*TEXTS, *CALLS, *STOPS, *ERRORS, *HISTORIES)


def write_rows(folder: Path) -> Path:
    """Write the whole set into a folder: index.jsonl and a file for each row."""
    lines = []
    for number, row in enumerate(ROWS):
        body = row["body"]
        file = f"{number:02}.{'html' if isinstance(body, str) else 'json'}"
        text = body if isinstance(body, str) else json.dumps(body, indent=1)
        (folder / file).write_text(text, encoding="utf-8")
        fields = {name: row[name] for name in ("mode", "what", "expect")}
        lines.append(json.dumps({"file": file, "api": "parcel", **fields}))
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
