"""What a turn costs with a real client: everything but the network, which an object plays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import httpx2

from chapters.ch01.connection import openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch01.loop import run
from chapters.ch02.registry import Arguments, Registry, define_tool
from chapters.ch04.adapters import Access, open_model
from chapters.ch04.known_servers import KNOWN
from labs.timing import Figure, growth, paired
from shared.events import fan_out
from shared.history import History
from shared.messages import UserMessage
from shared.sources import Inbox
from shared.tools import Effect, call_handler

ADDRESS = "http://provider.example/v1"
ARGUMENTS = '{"a": 2, "b": 3}'
ANTHROPIC_URL = "http://provider.example"

Message = dict[str, Any]


class Add(Arguments):
    """Two numbers."""

    a: int
    b: int


async def add(arguments: Add) -> str:
    """Their sum."""
    return str(arguments.a + arguments.b)


REGISTRY = Registry((define_tool("add", "Add two numbers.", Effect.READ, Add, add),), call_handler)


class Provider(httpx2.AsyncBaseTransport):
    """Answers in process: one addition a turn, `turns` times, and then text.

    It speaks Chat Completions, or Messages if the request goes there.
    """

    def __init__(self, turns: int) -> None:
        self._left = turns

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The next answer."""
        self._left -= 1
        reply = messages_reply if request.url.path.endswith("/messages") else chat_reply
        return httpx2.Response(200, json=reply(self._left), request=request)


def chat_reply(left: int) -> Message:
    """The answer of Chat Completions with `left` more calls to come."""
    message: Message = {"role": "assistant", "content": "done" if left < 0 else None}
    if left >= 0:
        function = {"name": "add", "arguments": ARGUMENTS}
        message["tool_calls"] = [{"id": f"call_{left}", "type": "function", "function": function}]
    finish = "stop" if left < 0 else "tool_calls"
    return {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def messages_reply(left: int) -> Message:
    """The answer of Messages with `left` more calls to come."""
    call = {"type": "tool_use", "id": f"call_{left}", "name": "add", "input": {"a": 2, "b": 3}}
    block = {"type": "text", "text": "done"} if left < 0 else call
    return {"content": [block], "stop_reason": "end_turn" if left < 0 else "tool_use"}


async def with_client(name: str, url: str, turns: int) -> None:
    """Our loop, registry, history and adapter, and the provider's own client."""
    inbox = Inbox()
    inbox.put(UserMessage("go"))
    access = Access(url, "a-key", "a-model")
    async with open_model(KNOWN[name], access, transport=Provider(turns)) as model:
        reply = await run(
            model,
            REGISTRY,
            History(),
            arrivals=inbox,
            emit=fan_out(()),
            max_turns=turns + 1,
        )
    assert reply.text == "done"


def as_bytes(value: Any) -> bytes:
    """JSON as a client sends it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


async def by_hand(turns: int) -> None:
    """The floor: the HTTP library alone, and each message turned into bytes once."""
    tools = as_bytes([chat_tool(REGISTRY.specs[0])])
    said = [as_bytes({"role": "user", "content": "go"})]
    async with httpx2.AsyncClient(transport=Provider(turns)) as client:
        while True:
            body = b'{"model":"a-model","tools":%b,"messages":[%b]}' % (tools, b",".join(said))
            headers = {"content-type": "application/json", "authorization": "Bearer a-key"}
            url = f"{ADDRESS}/chat/completions"
            answer = await client.post(url, content=body, headers=headers)
            message = answer.json()["choices"][0]["message"]
            said.append(as_bytes(message))
            if not message.get("tool_calls"):
                return
            said += [as_bytes(answered(call)) for call in message["tool_calls"]]


def answered(call: Message) -> Message:
    """The result of a call, as the floor computes it."""
    numbers = json.loads(call["function"]["arguments"])
    return {"role": "tool", "tool_call_id": call["id"], "content": str(sum(numbers.values()))}


def chat_tool(spec: Any) -> Message:
    """A tool on offer, as the floor sends it."""
    about = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": about}


async def by_typed_create(turns: int) -> None:
    """The same client through its typed method, which walks through the history at every call."""
    endpoint = Endpoint(ADDRESS, "a-key", "a-model")
    transport = Provider(turns)
    sdk = openai_client(endpoint, 10.0, httpx2.AsyncClient(transport=transport))
    create = sdk.client.chat.completions.with_raw_response.create
    said: list[Message] = [{"role": "user", "content": "go"}]
    tools = [chat_tool(REGISTRY.specs[0])]
    async with sdk.client:
        while True:
            raw = await create(model="a-model", tools=tools, messages=said)
            message = json.loads(raw.http_response.content)["choices"][0]["message"]
            said.append(message)
            if not message.get("tool_calls"):
                return
            said += [answered(call) for call in message["tool_calls"]]


# One event loop for all rounds: starting one is not what is measured.
RUNNER = asyncio.Runner()


def in_loop(action: Callable[[], Any]) -> Callable[[], None]:
    """An action that runs a coroutine to its end."""
    return lambda: RUNNER.run(action())


def client_figures() -> list[Figure]:
    """The figures of a turn with a real client."""

    def chat(turns: int) -> None:
        RUNNER.run(with_client("openai", ADDRESS, turns))

    def messages(turns: int) -> None:
        RUNNER.run(with_client("anthropic", ANTHROPIC_URL, turns))

    return [
        growth("the same with OpenAI's client, 800 over 50", "<= 1.3", chat, 50, 800),
        growth("the same with Anthropic's client, 800 over 50", "<= 1.3", messages, 50, 800),
        paired(
            "a turn with OpenAI's client, 200 turns, over httpx2 and bytes made once",
            "aim 5",
            lambda: chat(200),
            in_loop(lambda: by_hand(200)),
        ),
        paired(
            "that client's typed create(), 100 turns, over ours",
            "what we avoid",
            in_loop(lambda: by_typed_create(100)),
            lambda: chat(100),
        ),
    ]
