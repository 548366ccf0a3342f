"""What our own functions make of a row, told in the form in which the row expects it."""

from __future__ import annotations

import json
from typing import Any

from chapters.ch04.adapters import wire_of
from chapters.ch04.names_and_ids import CallIds
from chapters.ch04.provider import PLAIN_ID
from chapters.ch04.repair import repair
from chapters.ch04.wire import to_body
from shared.messages import Message, Request, UserMessage
from tests.vectors import peer_json, peer_stream, peer_validation
from tests.vectors.peer_messages import Translator, specs_of
from tests.vectors.peer_provider import NotOurs, target_of
from tests.vectors.peer_row import Json, Row


def outcome(row: Row, expect: Json) -> Json:
    """The row's `expect` as we would write it. Raises NotOurs for what we do not have."""
    match row.area:
        case "convertTools":
            return _tools(row)
        case "convertMessages":
            return _conversion(row, expect)
        case "transform":
            return _transformed(row)
        case "stream":
            return peer_stream.outcome(row, expect)
        case "json-parse":
            return peer_json.outcome(row, expect)
        case "validation":
            return peer_validation.outcome(row, expect)
        case _:
            return _ids(row)


def _tools(row: Row) -> Json:
    if "toolChoice" in row.given:
        raise NotOurs("a choice of tools: the model always chooses")
    history = Translator(row.given).ours(row.given.get("messages") or ())
    return {"tools": _body(row, history or [UserMessage("q")]).get("tools")}


def _conversion(row: Row, expect: Json) -> Json:
    body = _body(row, Translator(row.given).ours(row.given["messages"]))
    return {key: body.get(key) for key in expect}


def _body(row: Row, history: list[Message]) -> Json:
    target = target_of(row.given)
    system = row.given.get("systemPrompt") or ""
    return to_body(
        wire_of(target.provider.api), Request(history, specs_of(row.given), system), target
    )


def _transformed(row: Row) -> Json:
    target, translator = target_of(row.given), Translator(row.given)
    before = json.dumps(row.given)
    history = translator.ours(row.given["messages"])
    same = tuple(history)
    repaired = repair(history, target)
    told: Json = {"messages": translator.theirs(repaired)}
    if repair(repaired, target) != repaired:
        told["again"] = translator.theirs(repair(repaired, target))
    told["inputMutated"] = json.dumps(row.given) != before or tuple(history) != same
    return told


def _ids(row: Row) -> Json:
    given = row.given
    if given.get("function"):
        return _digest(given["text"])
    source = {"role": "assistant", "stopReason": "toolUse", **given["sourceMessage"]}
    call = {"type": "toolCall", "id": given["id"], "name": "t", "arguments": {}}
    result = {"role": "toolResult", "toolCallId": given["id"], "toolName": "t", "content": []}
    said = [{"role": "user", "content": "q"}, {**source, "content": [call]}, result]
    body = _body(row, Translator(given).ours(said))
    call_id, item, result_id = _sent_ids(body)
    told: Json = {"callId": call_id, "resultId": result_id}
    return told | ({"itemId": item} if "itemId" in row.expect else {})


def _sent_ids(body: Json) -> tuple[Any, Any, Any]:
    """Call id, item id and id of the result, as the API of the body has them."""
    for first, second in zip(body.get("input", ()), body.get("input", ())[1:], strict=False):
        if first.get("type") == "function_call":
            return first["call_id"], first.get("id"), second["call_id"]
    messages = body.get("messages") or body.get("contents", ())
    call, result = messages[-2], messages[-1]
    if "tool_calls" in call:
        return call["tool_calls"][0]["id"], None, result["tool_call_id"]
    if "parts" in call:
        part, answer = call["parts"][0]["functionCall"], result["parts"][0]["functionResponse"]
        return part.get("id"), None, answer.get("id")
    return call["content"][0]["id"], None, result["content"][0]["tool_use_id"]


def _digest(text: str) -> Json:
    """What tells two calls apart that have the same id."""
    ids = CallIds(PLAIN_ID)
    ids.assign(text)
    second = ids.assign(text)
    return {"hash": second.rpartition("_")[2]}
