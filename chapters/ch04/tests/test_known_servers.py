"""The table of providers: each name leads to the right address, and none is taken for another."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from urllib.parse import urlsplit

import pytest

from chapters.ch04.adapters import Access, endpoint_of, open_model, wire_of
from chapters.ch04.known_servers import KNOWN, PROVIDERS
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.wire import to_body
from shared.events import fan_out
from shared.messages import Request, ToolSpec, UserMessage
from shared.provider_server import Answer, ProviderServer, completion

OPENAI = "https://api.openai.com/v1"
BY_NAME = pytest.mark.parametrize("provider", PROVIDERS, ids=lambda provider: provider.name)
GEMINI_PATH = "/v1beta/models/a-model:generateContent"


def sent_to(provider: Provider, address: str | None = None) -> str:
    """Where a request goes: to the known address, or to the one that somebody has set."""
    target = Target(provider, "a-model")
    base_url = address or provider.base_url or ""
    endpoint = endpoint_of(wire_of(provider.api), target, Access(base_url, "a-key", "a-model"))
    return f"{endpoint.base_url}{endpoint.path}"


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("openai-responses", "https://api.openai.com/v1/responses"),
        ("anthropic", "https://api.anthropic.com/v1/messages"),
        ("gemini", f"https://generativelanguage.googleapis.com{GEMINI_PATH}"),
        ("gemini-2", f"https://generativelanguage.googleapis.com{GEMINI_PATH}"),
        ("deepseek", "https://api.deepseek.com/chat/completions"),
        ("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
        ("openrouter", "https://openrouter.ai/api/v1/chat/completions"),
        ("ollama", "http://localhost:11434/v1/chat/completions"),
        ("lmstudio", "http://localhost:1234/v1/chat/completions"),
        ("vllm", "http://localhost:8000/v1/chat/completions"),
        ("llamacpp", "http://localhost:8080/v1/chat/completions"),
    ],
)
def test_a_name_leads_to_the_address_of_its_server(name: str, url: str) -> None:
    assert sent_to(KNOWN[name]) == url


@pytest.mark.parametrize(
    ("name", "address", "url"),
    [
        # With and without the version, and with a slash at the end: people write all of them.
        ("openai", OPENAI, f"{OPENAI}/chat/completions"),
        ("openai", f"{OPENAI}/", f"{OPENAI}/chat/completions"),
        ("anthropic", "https://gateway.example/v1/", "https://gateway.example/v1/messages"),
        ("anthropic", "https://gateway.example/a", "https://gateway.example/a/v1/messages"),
        ("gemini", "https://gateway.example/v1beta", f"https://gateway.example{GEMINI_PATH}"),
    ],
)
def test_an_address_of_your_own_takes_the_place_of_that(name: str, address: str, url: str) -> None:
    assert sent_to(KNOWN[name], address) == url


def test_every_known_address_is_proved_above_and_only_openai_has_none() -> None:
    mark = test_a_name_leads_to_the_address_of_its_server.pytestmark[0]  # type: ignore[attr-defined]
    proved = {row[0] for row in mark.args[1]}
    assert {name for name, provider in KNOWN.items() if provider.base_url} == proved
    assert KNOWN.keys() - proved == {"openai"}


def test_every_api_has_a_provider() -> None:
    assert {provider.api for provider in PROVIDERS} == set(Api)


@BY_NAME
def test_a_row_is_fit_to_be_shown_and_chosen(provider: Provider) -> None:
    assert KNOWN[provider.name] is provider, "no name comes twice"
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", provider.name)
    assert provider.about.isprintable()
    assert len(provider.about) <= 60
    if provider.base_url is not None:
        url = urlsplit(provider.base_url)
        # A key goes there: unencrypted only if it does not leave this computer.
        assert url.scheme == ("http" if url.hostname == "localhost" else "https")


def test_no_variable_can_be_meant_for_two_providers() -> None:
    whats = [field.name.upper() for field in fields(Provider)] + ["API_KEY", "MODEL"]
    stems = [provider.name.upper().replace("-", "_") for provider in PROVIDERS]
    names = [*whats, *[f"{stem}_{what}" for stem in stems for what in whats]]
    assert len(set(names)) == len(names)


@BY_NAME
def test_a_row_fits_its_api(provider: Provider) -> None:
    """A request can be made, and holds all that the row promises to add."""
    target = Target(provider, "a-model")
    tool = ToolSpec("ready", "Says so.", {"type": "object", "properties": {}})
    body = to_body(
        wire_of(provider.api), Request((UserMessage("hi"),), (tool,), "Be kind."), target
    )
    assert body.items() >= dict(provider.extra_body).items()
    assert str(provider.max_tokens) in str(body) if provider.max_tokens else True
    assert "hi" in str(body)
    assert "ready" in str(body)


@pytest.mark.anyio
async def test_whatever_a_row_says_can_be_overridden_and_is_sent() -> None:
    changed = replace(
        KNOWN["deepseek"],
        max_tokens=7,
        token_limit_key="max_completion_tokens",
        strict=Strict.ON,
        extra_body={"temperature": 0},
        headers={"x-team": "red"},
    )
    tool = ToolSpec("ready", "Says so.", {"type": "object", "properties": {}})
    with ProviderServer(Answer(completion(text="Hi."))) as server:
        access = Access(server.base_url, "a-key", "a-model")
        async with open_model(changed, access) as model:
            reply = await model.reply(Request((UserMessage("hi"),), (tool,)), fan_out(()))
    (received,) = server.requests
    assert received.body["max_completion_tokens"] == 7
    assert received.body["temperature"] == 0
    assert received.body["tools"][0]["function"]["strict"] is True
    assert received.headers["x-team"] == "red"
    assert reply.origin is not None
    assert reply.origin.provider == "deepseek"
