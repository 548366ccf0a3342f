"""The chapter's suite, played to an adapter that is not in the chapter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from chapters.ch04.conformance.answers import ask, holds, judge, round_after, script_of
from chapters.ch04.conformance.rows import Row
from chapters.ch04.exercises.fifth_adapter.parcel_rows import OURS
from chapters.ch04.exercises.fifth_adapter.parcel_server import (
    messages_of,
    parcel_server,
    refusals,
    turn,
)
from chapters.ch04.live import ProviderModel
from shared.errors import ProviderError
from shared.messages import AssistantMessage, Message, Origin, UserMessage

Json = dict[str, Any]
OpenModel = Callable[[str], ProviderModel]
"""The adapter under test, at an address."""


async def play(row: Row, open_model: OpenModel, origin: Origin) -> str:
    """What is not as the row has it, in lines; "" if all is."""
    found = play_request if row.mode == "request" else play_answer
    return "\n".join(await found(row, open_model, origin))


async def play_answer(row: Row, open_model: OpenModel, origin: Origin) -> list[str]:
    """Play the answer of a row, then go on, and compare what comes with what should."""
    script = script_of(row)
    with parcel_server(*script, *script) as server:
        async with open_model(server.base_url) as model:
            history: list[Message] = [UserMessage("Go on.")]
            got = await ask(model, history, 0)
            found = [
                f"{each.what}: {each.got}, not {each.expected}" for each in judge(row.expect, got)
            ]
            if row.expect.get("echo") and isinstance(got, AssistantMessage):
                await ask(model, [*history, *round_after(got)], 0)
        last = server.requests[-1].body
    echo = row.expect.get("echo") or []
    return found + [f"{item} did not go back as it came" for item in echo if not holds(last, item)]


async def play_request(row: Row, open_model: OpenModel, origin: Origin) -> list[str]:
    """Send the bad conversation of a row, and compare what arrives with the good one."""
    document = row.document()
    history = messages_of(document["bad"], origin)
    with parcel_server(turn({"text": "Taken."})) as server:
        async with open_model(server.base_url) as model:
            problem = await ask(model, history, 0)
        (received,) = server.requests
    if refused := refusals(received.body):
        return [f"Parcel answered 400: {reason}" for reason in refused]
    if isinstance(problem, ProviderError):
        return [str(problem)]
    known = set(texts_in(document["bad"]))
    sent, good = (plain(each, known) for each in (received.body["exchange"], document["good"]))
    if len(sent) != len(good):
        return [f"{len(sent)} turns were sent, not {len(good)}"]
    turns = enumerate(zip(sent, good, strict=True), start=1)
    return [f"turn {number}: {differing(*pair)}" for number, pair in turns if pair[0] != pair[1]]


def differing(sent: Any, good: Any) -> str:
    """The innermost difference of two values that are not the same."""
    if isinstance(sent, dict) and isinstance(good, dict) and sent.keys() == good.keys():
        key = next(key for key in sent if sent[key] != good[key])
        return f"{key}: {differing(sent[key], good[key])}"
    if isinstance(sent, list) and isinstance(good, list) and len(sent) == len(good):
        return next(differing(*pair) for pair in zip(sent, good, strict=True) if pair[0] != pair[1])
    return f"sent was {json.dumps(sent)}, not {json.dumps(good)}"


def texts_in(exchange: list[Json]) -> Iterator[str]:
    """The texts of all answers that say something."""
    for each in exchange:
        yield from (answer["text"] for answer in each.get("answers", ()) if answer["text"])


def plain(exchange: list[Json], known: set[str]) -> list[Json]:
    """The exchange without the words of answers that only the agent can have made up."""
    return [
        {
            **each,
            "answers": [
                answer if answer["text"] in known else {**answer, "text": OURS}
                for answer in each["answers"]
            ],
        }
        if "answers" in each
        else each
        for each in exchange
    ]
