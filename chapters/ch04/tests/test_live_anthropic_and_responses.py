"""Both APIs over real HTTP, through the provider's own client; only the provider is a script."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from chapters.ch01.connection import openai_client
from chapters.ch01.endpoint import Endpoint
from chapters.ch04.adapters import Access, open_model, wire_of
from chapters.ch04.anthropic_client import anthropic_client
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.live import ProviderModel
from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Provider, Target
from chapters.ch04.wire import to_body
from shared.errors import ProviderError
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from shared.provider_server import Answer, Ending, ProviderServer

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-test-0123456789abcdefghij"
ANTHROPIC, RESPONSES = KNOWN["anthropic"], KNOWN["openai-responses"]
BOTH = pytest.mark.parametrize("provider", [ANTHROPIC, RESPONSES], ids=lambda one: one.name)
READ = ToolSpec("read.file", "Read", {"type": "object", "properties": {}})
NAME = wire_name(READ.name)


def anthropic_says(*content: Any, stop: str = "end_turn") -> dict[str, Any]:
    usage = {"input_tokens": 11, "output_tokens": 7}
    said = {"type": "message", "id": "msg_1", "role": "assistant", "model": "a-model"}
    return {**said, "content": list(content), "stop_reason": stop, "usage": usage}


def responses_say(*output: Any, status: str = "completed", error: Any = None) -> dict[str, Any]:
    usage = {"input_tokens": 11, "output_tokens": 7}
    said = {"object": "response", "id": "resp_1", "status": status, "error": error}
    return {**said, "output": list(output), "usage": usage}


def says(provider: Provider, text: str) -> dict[str, Any]:
    if provider is ANTHROPIC:
        return anthropic_says({"type": "text", "text": text})
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return responses_say({"type": "message", "id": "msg_2", "content": content})


def thinks_and_calls(provider: Provider) -> dict[str, Any]:
    if provider is ANTHROPIC:
        thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
        use = {"type": "tool_use", "id": "toolu_1", "name": NAME, "input": {}}
        return anthropic_says(thought, use, stop="tool_use")
    reasoning = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
    called = {"id": "fc_1", "call_id": "call_1", "name": NAME, "arguments": "{}"}
    return responses_say(reasoning, {"type": "function_call", **called})


@pytest.fixture(autouse=True)
def _no_proxy_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_")):
            monkeypatch.delenv(name)


@asynccontextmanager
async def connected(
    server: ProviderServer, provider: Provider, *, suffix: str = "", timeout: float = 10.0
) -> AsyncIterator[ProviderModel]:
    access = Access(server.base_url + suffix, KEY, "a-model")
    async with open_model(provider, access, timeout=timeout) as model:
        yield model


async def ask(model: ProviderModel, *, history: History | None = None) -> AssistantMessage:
    messages = history.view() if history else (UserMessage("hi"),)
    return await model.reply(Request(messages, (READ,), "Be brief."), lambda event: None)


async def refusal_of(provider: Provider, answer: Answer, **options: Any) -> ProviderError:
    """The error that this answer becomes. It was asked for once."""
    with ProviderServer(answer) as server:
        async with connected(server, provider, **options) as model:
            with pytest.raises(ProviderError) as raised:
                await ask(model)
    assert len(server.requests) == 1
    return raised.value


# What is sent


@BOTH
@pytest.mark.anyio
async def test_a_whole_round_goes_over_the_wire_as_the_pure_functions_say(
    provider: Provider,
) -> None:
    script = thinks_and_calls(provider), says(provider, "Done.")
    history = History([UserMessage("go")])
    with ProviderServer(*map(Answer, script)) as server:
        async with connected(server, provider) as model:
            reply = await ask(model, history=history)
            (call,) = reply.calls
            history.append(reply)
            history.append(ToolResult(call.id, call.name, "r"))
            last = await ask(model, history=history)
    assert call == ToolCall(call.id, "read.file", "{}", call.signature)
    assert reply.stop is StopReason.TOOL_USE
    assert (last.text, last.usage and last.usage.input_tokens) == ("Done.", 11)
    sent = Request(history.view(), (READ,), "Be brief.")
    body = to_body(wire_of(provider.api), sent, Target(provider, "a-model"))
    assert server.requests[1].body == body
    assert call.id in str(body)


@pytest.mark.parametrize(
    ("provider", "suffix", "path"),
    [
        (ANTHROPIC, "", "/v1/messages"),
        (ANTHROPIC, "/", "/v1/messages"),
        (RESPONSES, "", "/v1/responses"),
        (RESPONSES, "/responses", "/v1/responses"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.anyio
async def test_the_request_goes_to_the_address_of_the_api(
    provider: Provider, suffix: str, path: str
) -> None:
    with ProviderServer(Answer(says(provider, "Hi"))) as server:
        async with connected(server, provider, suffix=suffix) as model:
            await ask(model)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", path)
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"


@pytest.mark.anyio
async def test_a_server_below_another_path_is_found_there() -> None:
    with ProviderServer(Answer(says(ANTHROPIC, "Hi"))) as server:
        address = server.base_url.removesuffix("/v1") + "/anthropic"
        async with open_model(ANTHROPIC, Access(address, KEY, "a-model")) as model:
            await ask(model)
    assert server.requests[0].path == "/anthropic/v1/messages"


@BOTH
@pytest.mark.anyio
async def test_headers_of_the_record_are_sent_with_every_request(provider: Provider) -> None:
    own = replace(provider, headers={"x-api-key": "another-key", "anthropic-version": "2023-06-01"})
    with ProviderServer(Answer(says(provider, "Hi"))) as server:
        async with connected(server, own) as model:
            await ask(model)
    headers = server.requests[0].headers
    assert (headers["x-api-key"], headers["anthropic-version"]) == ("another-key", "2023-06-01")


FOREIGN = {
    "ANTHROPIC": (
        *("API_KEY", "AUTH_TOKEN", "PROFILE", "CONFIG_DIR", "IDENTITY_TOKEN", "WORKSPACE_ID"),
        *("IDENTITY_TOKEN_FILE", "FEDERATION_RULE_ID", "ORGANIZATION_ID", "SERVICE_ACCOUNT_ID"),
        *("SCOPE", "WEBHOOK_SIGNING_KEY"),
    ),
    "OPENAI": ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"),
}


@BOTH
@pytest.mark.anyio
async def test_nothing_that_the_environment_holds_for_the_client_is_used(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for owner, names in FOREIGN.items():
        for name in names:
            monkeypatch.setenv(f"{owner}_{name}", "foreign")
        monkeypatch.setenv(f"{owner}_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv(
            f"{owner}_CUSTOM_HEADERS",
            "Authorization: Bearer foreign\nX-Api-Key: foreign\nX-Foreign: foreign\n"
            "anthropic-version: foreign",
        )
    with ProviderServer(Answer(says(provider, "Hi"))) as server:
        async with connected(server, provider) as model:
            await ask(model)
    headers = server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "foreign" not in str(headers)
    assert not headers.keys() & {"x-api-key", "x-foreign"}


def test_the_client_traces_nothing_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    endpoint = Endpoint("http://127.0.0.1:9", KEY, "a-model")
    client = anthropic_client(endpoint, 1.0, httpx2.AsyncClient()).client
    assert client.open_telemetry["traces"]["enabled"] is False


def test_the_client_is_not_loaded_before_the_first_request() -> None:
    program = (
        "import sys\n"
        "from chapters.ch04.adapters import Access, open_model\n"
        "from chapters.ch04.known_servers import KNOWN\n"
        "for name in ('anthropic', 'openai-responses'):\n"
        "    open_model(KNOWN[name], Access('http://127.0.0.1:9', 'k', 'm'))\n"
        "print({'anthropic', 'openai', 'httpx2', 'pydantic'} & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


# What comes back and is no reply


def anthropic_error(kind: str, message: str = "m") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, "invalid_request_error", False),
        (401, "authentication_error", False),
        (402, "billing_error", False),
        (403, "permission_error", False),
        (404, "not_found_error", False),
        (409, "conflict_error", True),
        (413, "request_too_large", False),
        (429, "rate_limit_error", True),
        (500, "api_error", True),
        (504, "timeout_error", True),
        (529, "overloaded_error", True),
        (200, "overloaded_error", True),
        (200, "rate_limit_error", True),
        (200, "invalid_request_error", False),
        (200, "billing_error", False),
    ],
)
@pytest.mark.anyio
async def test_an_error_of_anthropic_says_what_it_was_and_whether_to_try_again(
    status: int, kind: str, retryable: bool
) -> None:
    answer = Answer(anthropic_error(kind, "Because."), status=status)
    error = await refusal_of(ANTHROPIC, answer)
    assert (error.kind, error.status, error.type) == ("provider", status, kind)
    assert error.retryable is retryable
    assert "Because." in str(error)


@pytest.mark.anyio
async def test_a_conversation_that_is_too_long_is_told_apart_from_a_bad_request() -> None:
    body = anthropic_error("invalid_request_error", "prompt is too long: 9 tokens > 8 maximum")
    error = await refusal_of(ANTHROPIC, Answer(body, status=400))
    assert "longer than the model can read" in str(error)
    assert not error.retryable


@BOTH
@pytest.mark.anyio
async def test_a_wait_of_an_hour_is_reported_and_not_waited_for(provider: Provider) -> None:
    answer = Answer({"error": {"message": "m"}}, status=429, headers={"retry-after": "3600"})
    error = await refusal_of(provider, answer)
    assert (error.retryable, error.retry_after) == (True, 3600)


@pytest.mark.parametrize(
    ("body", "kind", "code", "retryable"),
    [
        (
            responses_say(status="failed", error={"code": "server_error", "message": "x"}),
            "provider",
            "server_error",
            True,
        ),
        (
            responses_say(status="failed", error={"code": "invalid_prompt", "message": "x"}),
            "provider",
            "invalid_prompt",
            False,
        ),
        (responses_say(status="failed"), "bad_response", None, True),
    ],
    ids=["with a reason", "for good", "without a reason"],
)
@pytest.mark.anyio
async def test_a_response_that_failed_is_an_error_though_its_status_is_200(
    body: Any, kind: str, code: str | None, retryable: bool
) -> None:
    error = await refusal_of(RESPONSES, Answer(body))
    assert (error.kind, error.status, error.code) == (kind, 200, code)
    assert error.retryable is retryable


PAGE = Answer("<html>Sign in</html>", content_type="text/html")


@BOTH
@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (PAGE, "bad_response", "<html>Sign in</html>"),
        (Answer('{"content": [{"type"'), "bad_response", "it is not JSON"),
        (Answer(b"\xff\xfe"), "bad_response", "it is not JSON"),
        (Answer(b""), "bad_response", "It is empty"),
        (Answer({"choices": []}), "bad_response", "is missing"),
        (replace(PAGE, status=502), "provider", "Try again"),
        (Answer(b"\xff", status=500), "provider", "Try again"),
        (Answer("", status=307, headers={"location": "http://127.0.0.1:9/"}), "provider", "127"),
        (Answer("{", ending=Ending.DROPPED), "connection", "before there was a whole answer"),
        (Answer(status=None, ending=Ending.DROPPED), "connection", "before there was a whole"),
        (
            Answer(b"\x1f\x8bno", headers={"content-encoding": "gzip"}),
            "connection",
            "before there was a whole answer",
        ),
    ],
    ids=[
        *("page", "half a reply", "no text", "nothing", "another API", "page of a proxy"),
        *("error without text", "redirect", "drop in the middle", "drop at once", "bad packing"),
    ],
)
@pytest.mark.anyio
async def test_whatever_comes_instead_is_one_error_without_the_key_and_without_the_client(
    provider: Provider, answer: Answer, kind: str, says: str
) -> None:
    error = await refusal_of(provider, answer)
    assert error.kind == kind
    assert says in str(error)
    shown = "".join(traceback.format_exception(error))
    assert KEY not in shown
    assert error.__cause__ is None
    assert error.__context__ is None


@BOTH
@pytest.mark.anyio
async def test_an_answer_that_does_not_come_ends_in_a_timeout(provider: Provider) -> None:
    error = await refusal_of(provider, Answer("{", ending=Ending.HANGING), timeout=0.3)
    assert (error.kind, error.retryable) == ("timeout", True)


@BOTH
@pytest.mark.anyio
async def test_a_server_that_is_not_there_is_named(provider: Provider) -> None:
    with ProviderServer() as server:
        address = server.base_url
    async with open_model(provider, Access(address, KEY, "a-model")) as model:
        with pytest.raises(ProviderError, match="Nothing answers at") as raised:
            await ask(model)
    assert raised.value.kind == "connection"


@BOTH
@pytest.mark.anyio
async def test_after_an_error_and_after_closing_the_next_request_works(provider: Provider) -> None:
    with ProviderServer(PAGE, *[Answer(says(provider, "Hi"))] * 2) as server:
        async with connected(server, provider) as model:
            with pytest.raises(ProviderError):
                await ask(model)
            assert (await ask(model)).content[0] == Text("Hi", text_signature(provider))
            await model.aclose()
            assert (await ask(model)).text == "Hi"


def text_signature(provider: Provider) -> str:
    return "" if provider is ANTHROPIC else '{"id": "msg_2"}'


@pytest.mark.anyio
async def test_the_typed_methods_take_anything_for_an_answer() -> None:
    """Why the adapters read the bytes: the clients build their objects without looking."""
    below = httpx2.AsyncClient()
    page = Answer("<html>portal</html>", content_type="text/html")
    error = Answer({"error": {"message": "overloaded"}})
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with ProviderServer(page, error) as server:
        endpoint = Endpoint(server.base_url, "a-key", "m")
        async with openai_client(endpoint, 5.0, below).client as client:
            assert await client.chat.completions.create(**asked) == "<html>portal</html>"
            nothing = await client.chat.completions.create(**asked)
    assert (nothing.choices, nothing.usage) == (None, None)
