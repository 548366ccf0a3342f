"""Parcel on 127.0.0.1, as strict as its documentation, and the way back from its turns to ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any

from shared.messages import (
    AssistantMessage,
    Message,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from shared.provider_server import Answer, ProviderServer, Received, Script

Json = dict[str, Any]

FIELDS = {"model", "most", "brief", "abilities", "exchange"}


def parcel_server(*script: Script) -> ProviderServer:
    """A server that plays the script, and answers 400 to what Parcel does not take."""
    return ProviderServer(*(_guarded(entry) for entry in script))


def _guarded(entry: Script) -> Script:
    def answer(received: Received) -> Answer:
        if received.path != "/v1/exchange":
            return Answer({"error": {"message": f"There is no {received.path} here."}}, 404)
        if problems := refusals(received.body):
            return Answer({"error": {"code": "not_taken", "message": "; ".join(problems)}}, 400)
        return entry if isinstance(entry, Answer) else entry(received)

    return answer


def turn(*parcels: Json, ended: str | None = None, **more: Any) -> Answer:
    """A turn of the model as Parcel sends it."""
    asks = any("ask" in parcel for parcel in parcels)
    body = {"parcels": list(parcels), "ended": ended or ("asking" if asks else "answered"), **more}
    return Answer(body)


def refusals(body: Any) -> list[str]:
    """What Parcel has to say against a request; nothing if it takes it."""
    if not isinstance(body, dict):
        return ["a request is an object"]
    problems = [f"`{name}` is not known" for name in sorted(body.keys() - FIELDS)]
    problems += [
        f"`{name}` is missing" for name in sorted({"model", "most", "exchange"} - body.keys())
    ]
    if "abilities" in body:
        problems += _abilities(body["abilities"])
    exchange = body.get("exchange") or []
    if not exchange or exchange[0].get("by") != "person":
        problems.append("the person has the first turn")
    for number, each in enumerate(exchange, start=1):
        problems += [f"turn {number}: {problem}" for problem in _turn(each)]
    for number, (before, after) in enumerate(pairwise([{}, *exchange, {}]), start=1):
        problems += [f"turn {number}: {problem}" for problem in _answered(before, after)]
    return problems


def _abilities(offered: Any) -> Iterator[str]:
    if not offered:
        yield "`abilities` is empty: leave it out"
    for ability in offered or []:
        if ability.keys() != {"called", "for", "takes"}:
            yield f"an ability has `called`, `for` and `takes`, not {sorted(ability)}"
        elif not isinstance(ability["takes"], dict):
            yield "`takes` is a schema"


def _turn(said: Json) -> Iterator[str]:
    match said:
        case {"by": "person", "says": str(text), **rest} if not rest:
            if not text.strip():
                yield "a person says something"
        case {"by": "model", "parcels": [_, *_] as parcels, **rest} if not rest:
            for parcel in parcels:
                yield from _parcel(parcel)
        case {"by": "desk", "answers": [_, *_] as answers, **rest} if not rest:
            for answer in answers:
                yield from _answer(answer)
        case _:
            yield f"not a turn of a person, a model or the desk: {sorted(said)}"


def _parcel(parcel: Json) -> Iterator[str]:
    match parcel:
        case {"text": str(text), **rest} if not rest and text.strip():
            return
        case {"thought": str(), "seal": str(seal), **rest} if not rest and seal:
            return
        case {"ask": int(), "ability": str(), "with": dict(), **rest} if not rest:
            return
    yield f"this parcel is not one of ours: {str(parcel)[:60]}"


def _answer(answer: Json) -> Iterator[str]:
    match answer:
        case {"to": int(), "text": str(text), "failed": bool(), **rest} if not rest and text:
            return
    yield f"an answer has `to`, `text` and `failed`, and says something: {str(answer)[:60]}"


def _answered(before: Json, after: Json) -> Iterator[str]:
    """What is wrong with `after`, behind `before`: asks and answers have the same numbers."""
    asked = [parcel.get("ask") for parcel in before.get("parcels", ()) if "ask" in parcel]
    if asked != list(range(1, len(asked) + 1)):
        yield f"the asks of a turn are numbered from 1, not {asked}"
    answered = [answer.get("to") for answer in after.get("answers", ())]
    if asked != answered:
        yield f"asked was {asked}, and the next turn answers {answered}"


def messages_of(exchange: Iterable[Mapping[str, Any]], origin: Origin) -> list[Message]:
    """The turns of an exchange as our messages, with all that is wrong with them."""
    said: list[Message] = []
    number = 0
    for each in exchange:
        match each:
            case {"by": "person", "says": str(text)}:
                said.append(UserMessage(text))
            case {"by": "model", "parcels": list(parcels)}:
                number += 1
                content = tuple([_part(parcel, number) for parcel in parcels])
                said.append(AssistantMessage(content, origin=origin))
            case {"by": "desk", "answers": list(answers)}:
                said += [_result(answer, number) for answer in answers]
    return said


def _part(parcel: Json, number: int) -> Text | Thinking | ToolCall:
    if "ask" in parcel:
        arguments = json.dumps(parcel["with"])
        return ToolCall(f"turn {number}, ask {parcel['ask']}", parcel["ability"], arguments)
    if "thought" in parcel:
        return Thinking(parcel["thought"], parcel["seal"])
    return Text(parcel["text"])


def _result(answer: Json, number: int) -> ToolResult:
    code = "failed" if answer["failed"] else None
    return ToolResult(f"turn {number}, ask {answer['to']}", "", answer["text"], code)
