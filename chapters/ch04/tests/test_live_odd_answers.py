"""Four clients over real HTTP, and what makes them stumble: one error that says what to do."""

from __future__ import annotations

import os
import traceback
from collections.abc import Mapping
from typing import Any

import pytest

from chapters.ch04.adapters import Access, open_model
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.live import ProviderModel
from chapters.ch04.provider import Provider
from shared.errors import ConfigError, ProviderError
from shared.messages import AssistantMessage, Request, StopReason, UserMessage
from shared.provider_server import Answer, ProviderServer

pytest.importorskip("google.genai")
pytestmark = pytest.mark.anyio

KEY = "k-0123456789-abcdefghij"
NAMES = ("openai", "openai-responses", "anthropic", "gemini")
EACH = pytest.mark.parametrize(
    "provider", [KNOWN[name] for name in NAMES], ids=lambda one: one.name
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith("SSL_"):
            monkeypatch.delenv(name)


def model_at(address: str, provider: Provider, key: str = KEY) -> ProviderModel:
    return open_model(provider, Access(address.removesuffix("/v1"), key, "a-model"), timeout=10)


async def ask(model: ProviderModel) -> AssistantMessage:
    return await model.reply(Request((UserMessage("hi"),)), lambda event: None)


async def failing(provider: Provider, answer: Answer) -> ProviderError:
    with ProviderServer(answer) as server:
        async with model_at(server.base_url, provider) as model:
            with pytest.raises(ProviderError) as caught:
                await ask(model)
    assert caught.value.__context__ is None
    assert KEY not in "".join(traceback.format_exception(caught.value))
    return caught.value


CHARSETS = (
    "utf-16",
    "undefined",
    "hex",
    "zip",
    "rot13",
    "idna",
    "punycode",
    "no-such",
    '"',
    "\u00fc",
)


@EACH
@pytest.mark.parametrize("charset", CHARSETS)
@pytest.mark.parametrize("status", [401, 500])
async def test_the_charset_of_an_answer_is_no_matter(
    provider: Provider, status: int, charset: str
) -> None:
    content_type = f"application/json; charset={charset}"
    body = {"error": {"message": "It went wr\u00f6ng.", "type": "a_type"}}
    failed = await failing(provider, Answer(body, status, content_type))
    assert (failed.kind, failed.status) == ("provider", status)
    assert "The provider says: It went wr\u00f6ng." in str(failed)


@EACH
async def test_bytes_that_are_no_text_are_quoted_as_far_as_they_go(provider: Provider) -> None:
    failed = await failing(provider, Answer(b"No\xff\xfe", 500, "text/plain; charset=utf-7"))
    assert (failed.status, failed.retryable) == (500, True)
    assert "No" in str(failed)


@EACH
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_without_end_is_too_large_whatever_a_client_makes_of_it(
    provider: Provider, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chapters.ch01.connection.MAX_ANSWER_BYTES", 1_000_000)
    monkeypatch.setattr("chapters.ch04.gemini_connection.MAX_ANSWER_BYTES", 1_000_000)
    failed = await failing(provider, Answer(b"x" * 1_000_001, status))
    assert "longer than 1 MB" in str(failed)
    assert (failed.kind, failed.status, failed.retryable) == ("bad_response", status, False)


PROXY, CERTIFICATES = "holds no address of a proxy", "cannot be read, or holds no certificates"


@EACH
@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"HTTP_PROXY": "not a proxy::"}, f"HTTP_PROXY {PROXY}"),
        ({"https_proxy": "ftp://127.0.0.1"}, f"https_proxy {PROXY}"),
        ({"SSL_CERT_FILE": "/nonexistent"}, CERTIFICATES),
        ({"SSL_CERT_FILE": __file__}, CERTIFICATES),
    ],
    ids=["no address", "another scheme", "no file", "no certificates"],
)
async def test_an_environment_that_no_client_can_be_made_in_is_named(
    provider: Provider,
    environ: Mapping[str, str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    async with model_at("http://127.0.0.1:9", provider) as model:
        with pytest.raises(ConfigError, match=said) as caught:
            await ask(model)
    (name,) = environ
    assert name in str(caught.value)
    assert caught.value.__cause__ is None


@EACH
async def test_what_nobody_foresaw_in_a_client_is_an_error_of_the_provider(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any, **__: Any) -> Any:
        raise LookupError(f"no codec for {KEY}")

    monkeypatch.setattr("chapters.ch01.bounded_client.BoundedClient.send", broken)
    with ProviderServer() as server:
        async with model_at(server.base_url, provider) as model:
            with pytest.raises(ProviderError) as caught:
                await ask(model)
    assert caught.value.kind == "connection"
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert caught.value.__context__ is None


def ends_with(finish: str) -> dict[str, Any]:
    """An answer of each API at once, whose reason to end is `finish`."""
    return {
        "choices": [{"message": {"content": "hi"}, "finish_reason": finish}],
        "output": [],
        "status": finish,
        "content": [],
        "stop_reason": finish,
        "candidates": [{"finishReason": finish}],
    }


@EACH
@pytest.mark.parametrize("key", [KEY, "k-" + "0" * 70], ids=["short", "longer than what is kept"])
async def test_a_key_that_comes_back_as_the_reason_of_an_end_is_not_shown(
    provider: Provider, key: str
) -> None:
    with ProviderServer(Answer(ends_with(f"a {key}"))) as server:
        async with model_at(server.base_url, provider, key) as model:
            reply = await ask(model)
    assert reply.stop is StopReason.UNKNOWN
    assert "[key]" in reply.finish
    assert key[:8] not in reply.finish
    assert len(reply.finish) <= 64


@EACH
@pytest.mark.parametrize("status", [200, 500])
async def test_headers_that_are_not_ascii_are_no_matter(provider: Provider, status: int) -> None:
    headers = {"x-odd": "\u00fc", "retry-after": "\u00b2", "Content-Language": "\u00e9"}
    answer = Answer(ends_with("stop"), status, headers=headers)
    if status == 500:
        failed = await failing(provider, answer)
        assert (failed.status, failed.retry_after) == (500, None)
        return
    with ProviderServer(answer) as server:
        async with model_at(server.base_url, provider) as model:
            assert (await ask(model)).finish == "stop"


@EACH
@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"object": "error", "code": 400, "message": "No."}, 400, "WORKBOOK_MODEL"),
        ({"type": "error", "code": "rate_limit_exceeded", "message": "No."}, 200, "Too many"),
        ({"error": {"code": 503, "message": "No."}}, 503, "Try again in a moment"),
    ],
    ids=["vLLM", "flat", "with a number"],
)
async def test_an_error_that_came_as_a_success_is_one(
    provider: Provider, body: Any, status: int, said: str
) -> None:
    failed = await failing(provider, Answer(body))
    assert (failed.kind, failed.status) == ("provider", status)
    assert said in str(failed)
    assert "(HTTP 200) The provider says: No." in str(failed)
