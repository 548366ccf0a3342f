"""From a record to a streaming model: which client, which address, what it says if it cannot."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest

from chapters.ch04.adapters import Access, open_model, wire_of
from chapters.ch04.gemini_client import installed
from chapters.ch04.known_servers import KNOWN, PROVIDERS
from chapters.ch04.provider import Api
from chapters.ch05.adapters import open_streaming_model, stream_wire_of
from chapters.ch05.event_connection import EventConnection
from chapters.ch05.gemini_events import GeminiEvents
from chapters.ch05.streaming import StreamingModel
from shared.errors import ConfigError, ProviderError
from shared.messages import Request, UserMessage
from shared.provider_server import Answer, ProviderServer

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-test-0123456789abcdefghij"
SLOW_DOWN = Answer({"error": {"message": "over", "type": "rate_limit"}}, status=429)
PATHS = {
    "openai": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini": "/v1beta/models/a-model:streamGenerateContent",
}


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.split("_")[0] in ("OPENAI", "ANTHROPIC"):
            monkeypatch.delenv(name)


def needs(name: str) -> None:
    """Gemini's client is optional."""
    if KNOWN[name].api is Api.GEMINI and not installed():
        pytest.skip("pip install -e '.[gemini]' to run this too")


def opened(name: str, url: str = "http://127.0.0.1:9", **options: float) -> StreamingModel:
    """The model of a record, without TLS, whose certificates take long to load."""
    transport = httpx2.AsyncHTTPTransport(verify=False)
    return open_streaming_model(
        KNOWN[name], Access(url, KEY, "a-model"), transport=transport, **options
    )


async def ask(model: StreamingModel) -> None:
    await model.reply(Request((UserMessage("hi"),)), lambda event: None)


@pytest.mark.parametrize("api", Api)
def test_every_api_streams_what_chapter_4_speaks(api: Api) -> None:
    streamed, unstreamed = stream_wire_of(api).wire, wire_of(api)
    assert streamed.reply is unstreamed.reply
    assert streamed.items is unstreamed.items
    assert streamed.tools is unstreamed.tools


@pytest.mark.parametrize("name", [provider.name for provider in PROVIDERS])
def test_every_known_server_can_be_opened(name: str) -> None:
    needs(name)
    source = opened(name)._connection
    wanted = GeminiEvents if KNOWN[name].api is Api.GEMINI else EventConnection
    assert type(source) is wanted


@pytest.mark.anyio
@pytest.mark.parametrize("name", PATHS)
async def test_the_request_goes_where_the_messages_say_it_went(name: str) -> None:
    needs(name)
    with ProviderServer(SLOW_DOWN) as server:
        address = server.base_url.removesuffix("/v1" if name in ("anthropic", "gemini") else "")
        async with opened(name, f"{address}/") as model:
            endpoint = model._connection.endpoint
            with pytest.raises(ProviderError, match="Too many requests"):
                await ask(model)
    path, _, query = server.requests[0].path.partition("?")
    assert path == PATHS[name]
    assert query == ("alt=sse" if name == "gemini" else "")
    assert endpoint.base_url + endpoint.path == server.base_url.removesuffix("/v1") + path


@pytest.mark.anyio
@pytest.mark.parametrize("name", PATHS)
async def test_the_limits_of_time_reach_the_connection(name: str) -> None:
    needs(name)
    seen: list[object] = []

    class Asked(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            seen.append(request.extensions["timeout"]["read"])
            await asyncio.sleep(0.01)
            raise httpx2.ReadTimeout("silence", request=request)

    access = Access("http://127.0.0.1:9", KEY, "a-model")
    model = open_streaming_model(KNOWN[name], access, timeout=9, idle=4, transport=Asked())
    with pytest.raises(ProviderError, match="sent nothing for 4 seconds"):
        await ask(model)
    await model.aclose()
    assert seen == [4]
    model = open_streaming_model(KNOWN[name], access, timeout=0.001, idle=4, transport=Asked())
    with pytest.raises(ProviderError, match=r"within 0\.001 seconds"):
        await ask(model)
    await model.aclose()


@pytest.mark.anyio
@pytest.mark.parametrize("name", PATHS)
async def test_headers_of_a_row_are_sent(name: str) -> None:
    needs(name)
    row = replace(KNOWN[name], headers={"X-Team": "blue"})
    with ProviderServer(SLOW_DOWN) as server:
        access = Access(server.base_url, KEY, "a-model")
        transport = httpx2.AsyncHTTPTransport(verify=False)
        async with open_streaming_model(row, access, transport=transport) as model:
            with pytest.raises(ProviderError, match="Too many requests"):
                await ask(model)
    assert server.requests[0].headers["x-team"] == "blue"


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize(("url", "key"), [("nonsense", KEY), ("http://127.0.0.1:9", " ")])
def test_what_no_request_can_be_sent_with_is_said_as_in_chapter_4(
    name: str, url: str, key: str
) -> None:
    needs(name)
    said = []
    for open_it in (open_model, open_streaming_model):
        with pytest.raises(ConfigError) as caught:
            open_it(KNOWN[name], Access(url, key, "a-model"))
        said.append(str(caught.value))
    assert said[0] == said[1]


# Without the package.


@pytest.fixture(params=["google.genai", "google"])
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """google-genai, or all that Google has ever published, is not installed."""
    for name in [name for name in sys.modules if name.split(".")[:2] == ["google", "genai"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, request.param, None)


@pytest.mark.usefixtures("absent")
def test_without_the_package_gemini_says_how_to_get_it_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError) as caught:
        opened("gemini")
    assert "pip install -e '.[gemini]'" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.usefixtures("absent")
@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
async def test_without_the_package_every_other_adapter_works(name: str) -> None:
    with ProviderServer(SLOW_DOWN) as server:
        async with opened(name, server.base_url) as model:
            with pytest.raises(ProviderError, match="Too many requests"):
                await ask(model)
        assert len(server.requests) == 1


def test_nothing_is_loaded_before_the_first_request() -> None:
    program = (
        "import sys\n"
        "from chapters.ch04.adapters import Access\n"
        "from chapters.ch04.known_servers import KNOWN\n"
        "from chapters.ch05.adapters import open_streaming_model\n"
        "for name in sys.argv[1:]:\n"
        "    open_streaming_model(KNOWN[name], Access('http://127.0.0.1:9', 'a-key', 'm'))\n"
        "print({'openai', 'anthropic', 'google.genai', 'httpx2', 'pydantic'} & set(sys.modules))\n"
    )
    names = [name for name in PATHS if name != "gemini" or installed()]
    command = [sys.executable, "-W", "error", "-c", program, *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.stderr) == ("set()", "")
