"""The rules of what providers refuse: each one refuses a bad request, and takes the good one."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Provider
from chapters.ch04.refusals import refusals

Json = dict[str, Any]
Change = Callable[[Json], object]

CHAT = replace(KNOWN["openai"], max_tools=128)
RESPONSES = KNOWN["openai-responses"]
ANTHROPIC, GEMINI = KNOWN["anthropic"], KNOWN["gemini"]


def chat_call(call_id: str = "call_1", name: str = "read", arguments: Any = "{}") -> Json:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def chat_body() -> Json:
    return {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "", "tool_calls": [chat_call(), chat_call("call_2")]},
            {"role": "tool", "tool_call_id": "call_1", "content": "ok"},
            {"role": "tool", "tool_call_id": "call_2", "content": "ok"},
            {"role": "assistant", "content": "Done."},
            {"role": "user", "content": [{"type": "text", "text": "thanks"}]},
        ],
        "tools": [{"type": "function", "function": {"name": "read", "parameters": {}}}],
    }


def responses_body() -> Json:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read"}
    return {
        "model": "m",
        "input": [
            {"role": "user", "content": "go"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
            {**call, "arguments": "{}"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text"}]},
            {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
            {"role": "user", "content": "thanks"},
        ],
        "tools": [{"type": "function", "name": "read", "parameters": {}}],
    }


def anthropic_body() -> Json:
    def use(call_id: str) -> Json:
        return {"type": "tool_use", "id": call_id, "name": "read", "input": {"path": "a"}}

    def result(call_id: str) -> Json:
        return {"type": "tool_result", "tool_use_id": call_id, "content": "ok"}

    said = {"type": "text", "text": "thanks"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    return {
        "model": "m",
        "max_tokens": 64,
        "messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [thought, use("toolu_1"), use("toolu_2")]},
            {"role": "user", "content": [result("toolu_1"), result("toolu_2"), said]},
        ],
        "tools": [{"name": "read", "input_schema": {"type": "object"}}],
    }


def gemini_body() -> Json:
    call = {"functionCall": {"name": "read", "args": {}}}
    other = {"functionCall": {"name": "list"}}
    results = [
        {"functionResponse": {"name": name, "response": {"output": "ok"}}}
        for name in ("read", "list")
    ]
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "go"}]},
            {"role": "model", "parts": [{**call, "thoughtSignature": "c2ln"}, other]},
            {"role": "user", "parts": results},
        ],
        "tools": [{"functionDeclarations": [{"name": "read"}, {"name": "list"}]}],
    }


GOOD = {
    Api.CHAT: (chat_body, CHAT),
    Api.RESPONSES: (responses_body, RESPONSES),
    Api.ANTHROPIC: (anthropic_body, ANTHROPIC),
    Api.GEMINI: (gemini_body, GEMINI),
}


@pytest.mark.parametrize("api", Api)
def test_a_request_in_order_is_taken(api: Api) -> None:
    body, provider = GOOD[api]
    assert refusals(api, body(), provider) == []


def message(index: int, **fields: Any) -> Change:
    return lambda body: body["messages"][index].update(fields)


def item(index: int, **fields: Any) -> Change:
    return lambda body: body["input"][index].update(fields)


def block(at: int, index: int, **fields: Any) -> Change:
    return lambda body: body["messages"][at]["content"][index].update(fields)


def calls(*calls: Json) -> Change:
    return message(2, tool_calls=list(calls))


def part(at: int, index: int, kind: str, **fields: Any) -> Change:
    return lambda body: body["contents"][at]["parts"][index][kind].update(fields)


def moved(key: str, start: int, end: int) -> Change:
    return lambda body: body[key].insert(end, body[key].pop(start))


def many_tools(body: Json) -> None:
    body["tools"] = [{"function": {"name": f"tool_{number}"}} for number in range(129)]


def strict_tools(number: int, schema: Json) -> Change:
    tools = [
        {"name": f"t{index}", "strict": True, "input_schema": schema} for index in range(number)
    ]
    return lambda body: body.update(tools=tools)


def schema_of(number: int, kind: Json, required: bool) -> Json:
    properties = {f"p{index}": kind for index in range(number)}
    return {"properties": properties, "required": list(properties) if required else []}


TEXT: Json = {"type": "string"}
UNION: Json = {"anyOf": [{"type": "string"}, {"type": "null"}]}
CALLED_AGAIN: Json = {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": ""}
ORPHAN: Json = {"role": "tool", "tool_call_id": "call_9", "content": "ok"}
PICTURE: Json = {"type": "image_url", "image_url": {"url": "data:image/png;base64,QQ=="}}

BAD: list[tuple[Api, Change, str]] = [
    # What no API takes.
    (Api.CHAT, message(1, content="\ud83d"), "lone surrogate"),
    (Api.CHAT, lambda body: body.update(tools=[]), "leave the key out"),
    (Api.CHAT, many_tools, "at most 128, got 129"),
    (Api.CHAT, lambda body: body["tools"].append(body["tools"][0]), "'read' is used 2 times"),
    (Api.RESPONSES, lambda body: body["tools"][0].update(name="a.b"), "'a.b' is not legal"),
    (Api.GEMINI, part(1, 1, "functionCall", name="a b"), "'a b' is not legal"),
    # Chat Completions.
    (Api.CHAT, lambda body: body.update(messages=[]), "missing or empty"),
    (Api.CHAT, message(0, role="developer"), "developer is not known here"),
    (Api.CHAT, message(0, role="bot"), "'bot' is not known"),
    (Api.CHAT, lambda body: body["messages"].pop(4), "'call_2' has no result"),
    (Api.CHAT, moved("messages", 6, 4), "'call_2' has no result"),
    (Api.CHAT, moved("messages", 4, 1), "'call_2', which was not called"),
    (Api.CHAT, message(4, tool_call_id="call_9"), "'call_9', which was not called"),
    (Api.CHAT, lambda body: body["messages"].insert(4, body["messages"][3]), "2 results"),
    (Api.CHAT, lambda body: body["messages"].insert(0, body["messages"][3]), "not called"),
    (Api.CHAT, lambda body: body["messages"].insert(2, ORPHAN), "'call_9', which was not called"),
    (Api.CHAT, lambda body: body["messages"].insert(1, ORPHAN), "'call_9', which was not called"),
    (Api.CHAT, lambda body: body["messages"].insert(6, ORPHAN), "'call_9', which was not called"),
    (Api.CHAT, calls(chat_call(), chat_call()), "'call_1' is used 2 times"),
    (Api.CHAT, calls(chat_call(""), chat_call("call_2")), "the id '' is not legal"),
    (Api.CHAT, calls(chat_call("a|b"), chat_call("call_2")), "the id 'a|b' is not legal"),
    (Api.CHAT, calls(chat_call(name="a b"), chat_call("call_2")), "'a b' is not legal"),
    (Api.CHAT, calls(chat_call(arguments="{"), chat_call("call_2")), "JSON text of an object"),
    (Api.CHAT, calls(chat_call(arguments="[]"), chat_call("call_2")), "JSON text of an object"),
    (Api.CHAT, calls(chat_call(arguments={}), chat_call("call_2")), "JSON text of an object"),
    (Api.CHAT, calls(chat_call(arguments='{"a":NaN}'), chat_call("call_2")), "JSON text of an"),
    (Api.CHAT, message(5, tool_calls=[]), "tool_calls is empty"),
    (Api.CHAT, message(5, content=""), "neither content nor calls"),
    (Api.CHAT, message(5, content=[]), "has to be text"),
    (Api.CHAT, message(2, content=None), "has to be ''"),
    (Api.CHAT, message(3, content=[{"type": "text", "text": "ok"}]), "has to be text"),
    (Api.CHAT, message(1, content=[]), "has to be text"),
    # Responses.
    (Api.RESPONSES, lambda body: body.update(input=[]), "missing or empty"),
    (Api.RESPONSES, lambda body: body["input"].pop(4), "'call_1' has no result"),
    (Api.RESPONSES, item(4, call_id="fc_1"), "'fc_1', which was not called"),
    (Api.RESPONSES, lambda body: body["input"].insert(4, body["input"][4]), "2 results"),
    (Api.RESPONSES, moved("input", 4, 1), "before its call"),
    (Api.RESPONSES, lambda body: body["input"].pop(1), "'fc_1' came with a reasoning item"),
    (Api.RESPONSES, moved("input", 1, 5), "right behind it"),
    (Api.RESPONSES, moved("input", 1, 4), "right behind it"),
    (Api.RESPONSES, item(2, id="rs_1"), "'rs_1' is used 2 times"),
    (Api.RESPONSES, item(2, call_id="call|1"), "'call|1' is not legal"),
    (Api.RESPONSES, item(2, call_id="c" * 65), "is not legal"),
    (Api.RESPONSES, lambda body: body["input"].insert(3, CALLED_AGAIN), "'call_1' is used 2 times"),
    (Api.RESPONSES, item(2, name="a b"), "the name 'a b' is not legal"),
    (Api.RESPONSES, item(2, arguments="nothing"), "JSON text of an object"),
    (Api.RESPONSES, item(3, content=[]), "content is empty"),
    # Anthropic Messages.
    (Api.ANTHROPIC, lambda body: body.pop("max_tokens"), "max_tokens: missing"),
    (Api.ANTHROPIC, lambda body: body.update(temperature=0), "temperature: not permitted"),
    (Api.ANTHROPIC, lambda body: body.update(top_p=1), "top_p: not permitted"),
    (Api.ANTHROPIC, lambda body: body.update(top_k=1), "top_k: not permitted"),
    (Api.ANTHROPIC, lambda body: body["messages"].pop(0), "has to come from the user"),
    (Api.ANTHROPIC, message(0, role="tool"), "'tool' is not known"),
    (Api.ANTHROPIC, message(0, content=[]), "content is empty"),
    (Api.ANTHROPIC, message(0, content=" "), "empty or blank"),
    (Api.ANTHROPIC, block(2, 2, text=""), "empty or blank"),
    (Api.ANTHROPIC, block(2, 0, content=[{"type": "text", "text": ""}]), "empty or blank"),
    (Api.ANTHROPIC, block(1, 0, signature=""), "without its signature"),
    (Api.ANTHROPIC, block(1, 1, input="{}"), "input has to be an object"),
    (Api.ANTHROPIC, block(1, 1, name="a b"), "'a b' is not legal"),
    (Api.ANTHROPIC, block(1, 1, id="call|1"), "'call|1' is not legal"),
    (Api.ANTHROPIC, block(1, 1, id="toolu_2"), "'toolu_2' is used 2 times"),
    (Api.ANTHROPIC, lambda body: body["messages"].pop(2), "'toolu_1' has no result"),
    (Api.ANTHROPIC, lambda body: body["messages"][2]["content"].pop(1), "'toolu_2' has no result"),
    (Api.ANTHROPIC, block(2, 1, tool_use_id="toolu_9"), "'toolu_9', which was not called"),
    (Api.ANTHROPIC, block(2, 1, tool_use_id="toolu_1"), "2 results"),
    (
        Api.ANTHROPIC,
        lambda body: body["messages"][2]["content"].reverse(),
        "before everything else",
    ),
    (Api.ANTHROPIC, message(2, role="assistant"), "results come from the user"),
    (Api.ANTHROPIC, strict_tools(21, {}), "at most 20 strict tools"),
    (Api.ANTHROPIC, strict_tools(1, schema_of(25, TEXT, False)), "at most 24 optional"),
    (Api.ANTHROPIC, strict_tools(1, schema_of(17, UNION, True)), "at most 16 parameters"),
    # Gemini.
    (Api.GEMINI, lambda body: body.update(contents=[]), "has to come from the user"),
    (Api.GEMINI, lambda body: body["contents"].pop(0), "has to come from the user"),
    (Api.GEMINI, lambda body: body["contents"][0].update(role="tool"), "'tool' is not known"),
    (Api.GEMINI, lambda body: body["contents"][0].update(parts=[]), "parts are empty"),
    (Api.GEMINI, lambda body: body["contents"].pop(2), "have no responses"),
    (Api.GEMINI, lambda body: body["contents"][2]["parts"].pop(), "have to answer"),
    (Api.GEMINI, lambda body: body["contents"][2]["parts"].reverse(), "have to answer"),
    (Api.GEMINI, part(2, 0, "functionResponse", name="list"), "have to answer"),
    (Api.GEMINI, part(2, 0, "functionResponse", response="ok"), "has to be an object"),
    (Api.GEMINI, part(1, 0, "functionCall", args="{}"), "args have to be an object"),
    (
        Api.GEMINI,
        lambda body: body["contents"][1]["parts"][0].pop("thoughtSignature"),
        "missing its thoughtSignature",
    ),
]


@pytest.mark.parametrize(
    ("api", "change", "reason"), BAD, ids=[f"{api}: {reason}" for api, _, reason in BAD]
)
def test_one_fault_is_refused_for_its_reason(api: Api, change: Change, reason: str) -> None:
    build, provider = GOOD[api]
    body = build()
    change(body)
    found = refusals(api, body, provider)
    assert any(reason in each for each in found), found


OF_A_SERVER: list[tuple[Json, Change, str]] = [
    ({"empty_content": None}, lambda body: None, "has to be None"),
    ({"result_name": True}, lambda body: None, "without the name of its tool"),
    ({"reply_after_results": True}, lambda body: body["messages"].pop(5), "directly after results"),
    ({"images": False}, message(6, content=[PICTURE]), "pictures are not taken"),
    ({"blank_text": False}, message(1, content=" "), "content is blank"),
    (
        {"blank_text": False},
        message(6, content=[{"type": "text", "text": ""}]),
        "a blank text",
    ),
]


@pytest.mark.parametrize(
    ("wants", "change", "reason"), OF_A_SERVER, ids=[each[2] for each in OF_A_SERVER]
)
def test_what_one_server_refuses_another_takes(wants: Json, change: Change, reason: str) -> None:
    body = chat_body()
    change(body)
    assert refusals(Api.CHAT, body, CHAT) == []
    found = refusals(Api.CHAT, body, replace(CHAT, **wants))
    assert any(reason in each for each in found), found


def test_a_result_may_hold_a_picture_where_the_record_says_so() -> None:
    body = chat_body()
    body["messages"][3]["content"] = [PICTURE]
    assert refusals(Api.CHAT, body, replace(CHAT, result_images=True)) == []


@pytest.mark.parametrize("api", Api)
@pytest.mark.parametrize("body", [None, [], {}, {"messages": 1, "input": 1, "contents": {}}])
def test_nonsense_is_refused_and_breaks_nothing(api: Api, body: Any) -> None:
    assert refusals(api, body, GOOD[api][1])


@pytest.mark.parametrize("api", Api)
def test_no_missing_or_mistyped_field_breaks_the_rules(api: Api) -> None:
    """Anything may come from a client: the rules answer, they do not crash."""
    build, provider = GOOD[api]

    def spoil(body: Any, value: Any, provider: Provider) -> None:
        entries = list(body.items() if isinstance(body, dict) else enumerate(body))
        for key, inner in entries:
            body[key] = deepcopy(value)
            refusals(api, whole, provider)
            body[key] = inner
            if isinstance(inner, dict | list):
                spoil(inner, value, provider)

    values: list[Any] = [None, 1, "x", [], {}, [None], {"a": {}}]
    for value in values:
        whole = build()
        spoil(whole, value, provider)


@pytest.mark.parametrize("api", list(Api))
def test_a_request_nested_deeper_than_python_likes_is_judged_all_the_same(api: Api) -> None:
    inner: Any = "half \ud83d"
    for _ in range(5_000):
        inner = [{"x": inner}]
    found = refusals(api, {"odd": inner}, KNOWN["openai"])
    assert any("lone surrogate" in each for each in found)


def test_a_name_longer_than_the_provider_takes_is_refused() -> None:
    body = {**chat_body(), "tools": [{"type": "function", "function": {"name": "n" * 65}}]}
    assert any("is not legal" in each for each in refusals(Api.CHAT, body, CHAT))
    longer = replace(CHAT, name_limit=10**30)
    assert not any("is not legal" in each for each in refusals(Api.CHAT, body, longer))
