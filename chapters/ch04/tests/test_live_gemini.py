"""Gemini over Google's real client and real HTTP; only the provider is a script."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import pytest

from chapters.ch04.adapters import Access, open_model
from chapters.ch04.gemini_connection import GeminiConnection
from chapters.ch04.gemini_http import EXCHANGE
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.live import ProviderModel
from shared.errors import ConfigError, ProviderError
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
from shared.provider_server import Answer, Ending, ProviderServer, Received

pytest.importorskip(
    "google.genai", reason="Gemini is optional; pip install -e '.[gemini]' to run this too"
)

ROOT = Path(__file__).resolve().parents[3]
KEY = "AIzaSyTest0123456789abcdefghij"
SPEC = ToolSpec("list_files", "List files", {"type": "object", "properties": {}})
PATH = "/v1beta/models/a-model:generateContent"


def answer(*parts: Any, finish: str = "STOP", **more: Any) -> Answer:
    content = {"role": "model", "parts": list(parts)}
    return Answer({"candidates": [{"content": content, "finishReason": finish, **more}]})


HELLO = answer({"text": "Hello"})


def error(status: int, message: str, *details: Any, word: str = "X") -> Answer:
    said = {"code": status, "message": message, "status": word, "details": list(details)}
    return Answer({"error": said}, status=status)


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("GOOGLE_", "GEMINI_")):
            monkeypatch.delenv(name)


def address_of(server: ProviderServer) -> str:
    return server.base_url.removesuffix("/v1")


def connected(server: ProviderServer, row: str = "gemini-2", **options: Any) -> ProviderModel:
    return open_model(KNOWN[row], Access(address_of(server), KEY, "a-model"), **options)


async def ask(model: ProviderModel, prompt: str = "hi") -> AssistantMessage:
    return await model.reply(Request((UserMessage(prompt),)), lambda event: None)


async def failing(server: ProviderServer, **options: Any) -> ProviderError:
    async with connected(server, **options) as model:
        with pytest.raises(ProviderError) as caught:
            await ask(model)
    told = "".join(traceback.format_exception(caught.value))
    assert KEY not in told
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


# A whole round.


@pytest.mark.anyio
@pytest.mark.parametrize("row", ["gemini-2", "gemini"])
async def test_a_round_with_two_calls_goes_there_and_back_with_its_signatures(row: str) -> None:
    ids = row == "gemini"
    asked = [
        {"text": "hm", "thought": True, "thoughtSignature": "dGhvdWdodA=="},
        {
            "functionCall": {
                "name": "list_files",
                "args": {"n": 1},
                **({"id": "a"} if ids else {}),
            },
            "thoughtSignature": "c2lnbmF0dXJl",
        },
        {"functionCall": {"name": "list_files", "args": {}, **({"id": "b"} if ids else {})}},
    ]
    done = {"text": "Two files.", "thoughtSignature": "ZW5k"}
    script = (answer(*asked), answer(done), HELLO)
    with ProviderServer(*script) as server:
        async with connected(server, row) as model:
            history = History([UserMessage("Which files?")])

            async def next_reply() -> AssistantMessage:
                request = Request(history.view(), (SPEC,), "Be brief.")
                history.append(await model.reply(request, lambda event: None))
                last = history.view()[-1]
                assert isinstance(last, AssistantMessage)
                return last

            calls = (await next_reply()).calls
            history.append(ToolResult(calls[0].id, "list_files", "a.txt"))
            history.append(ToolResult(calls[1].id, "list_files", "no such folder", "not_found"))
            assert (await next_reply()).content == (Text("Two files.", "ZW5k"),)
            history.append(UserMessage("Thanks"))
            assert (await next_reply()).text == "Hello"

    assert [(one.method, one.path) for one in server.requests] == [("POST", PATH)] * 3
    assert all(one.headers["x-goog-api-key"] == KEY for one in server.requests)
    assert all("google-genai-sdk" in one.headers["user-agent"] for one in server.requests)
    answered: list[dict[str, Any]] = [
        {"name": "list_files", "response": {"output": "a.txt"}},
        {"name": "list_files", "response": {"error": "no such folder"}},
    ]
    if ids:
        answered = [{**one, "id": call} for one, call in zip(answered, "ab", strict=True)]
    assert server.requests[2].body == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "list_files",
                        "description": "List files",
                        "parametersJsonSchema": dict(SPEC.parameters),
                    }
                ]
            }
        ],
        "contents": [
            {"role": "user", "parts": [{"text": "Which files?"}]},
            {"role": "model", "parts": asked},
            {"role": "user", "parts": [{"functionResponse": one} for one in answered]},
            {"role": "model", "parts": [done]},
            {"role": "user", "parts": [{"text": "Thanks"}]},
        ],
    }


@pytest.mark.anyio
async def test_calls_without_ids_get_one_each() -> None:
    call = {"functionCall": {"name": "list_files"}}
    with ProviderServer(answer(call, call)) as server:
        async with connected(server) as model:
            first, second = (await ask(model)).calls
    assert first.id
    assert second.id
    assert first.id != second.id


@pytest.mark.anyio
async def test_what_is_sent_is_what_was_made_byte_for_byte() -> None:
    seen: list[bytes] = []
    content = '{"contents": "é\u2028",  "n":1e5}'.encode()

    def keep(received: Received) -> Answer:
        seen.append(json.dumps(received.body).encode())
        return HELLO

    with ProviderServer(keep) as server:
        async with connected(server) as model:
            connection = model._connection
            assert isinstance(connection, GeminiConnection)
            status, body = await connection.post(content)
    assert server.requests[0].headers["content-length"] == str(len(content))
    assert seen == [json.dumps(json.loads(content)).encode()]
    assert (status, body) == (200, HELLO.content)


@pytest.mark.anyio
async def test_requests_at_the_same_time_each_send_their_own_words() -> None:
    def echo(received: Received) -> Answer:
        return answer(received.body["contents"][0]["parts"][0])

    with ProviderServer(*[echo] * 8) as server:
        async with connected(server) as model:
            connection = model._connection
            bodies = [
                json.dumps({"contents": [{"parts": [{"text": str(n)}]}]}).encode() for n in range(8)
            ]
            replies = await asyncio.gather(*map(connection.post, bodies))
    texts = [
        json.loads(body)["candidates"][0]["content"]["parts"][0]["text"] for _, body in replies
    ]
    assert texts == [str(n) for n in range(8)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("suffix", "model"),
    [
        ("", "a-model"),
        ("/", "models/a-model"),
        ("/v1beta", "a-model"),
        ("/v1beta/", "tunedModels/mine"),
        ("/gateway", "a-model"),
    ],
)
async def test_the_request_goes_where_the_messages_say_it_went(suffix: str, model: str) -> None:
    with ProviderServer(HELLO) as server:
        access = Access(address_of(server) + suffix, KEY, model)
        async with open_model(KNOWN["gemini"], access) as opened:
            await ask(opened)
            endpoint = opened._connection.endpoint
    assert address_of(server) + server.requests[0].path == endpoint.base_url + endpoint.path


@pytest.mark.anyio
async def test_headers_of_a_row_are_sent() -> None:
    with ProviderServer(HELLO) as server:
        endpoint = connected(server)._connection.endpoint
        connection = GeminiConnection(endpoint, timeout=5, headers={"X-Team": "blue"})
        await connection.post(b"{}")
        await connection.aclose()
    assert server.requests[0].headers["x-team"] == "blue"


# Nothing but the settings decides where the words and the key go.

TRAPS = {
    "GOOGLE_API_KEY": "AIzaSyOther",
    "GEMINI_API_KEY": "AIzaSyThird",
    "GOOGLE_GENAI_USE_VERTEXAI": "true",
    "GOOGLE_GENAI_USE_ENTERPRISE": "true",
    "GOOGLE_CLOUD_PROJECT": "elsewhere",
    "GOOGLE_CLOUD_LOCATION": "europe-west1",
    "GOOGLE_APPLICATION_CREDENTIALS": "/nowhere.json",
    "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9",
    "GOOGLE_VERTEX_BASE_URL": "http://127.0.0.1:9",
    "GOOGLE_GENAI_API_VERSION": "v9",
    "GOOGLE_GENAI_CLIENT_MODE": "replay",
    "GOOGLE_GENAI_REPLAYS_DIRECTORY": "/nowhere",
    "GOOGLE_GENAI_REPLAY_ID": "one",
    "GOOGLE_API_USE_MTLS_ENDPOINT": "always",
    "GOOGLE_API_USE_CLIENT_CERTIFICATE": "true",
    "GOOGLE_CLOUD_UNIVERSE_DOMAIN": "127.0.0.1",
    "GOOGLE_GENAI_HTTP_CLIENT": "httpx2",
}


@pytest.mark.anyio
@pytest.mark.parametrize("names", [[name] for name in TRAPS] + [list(TRAPS)], ids="-".join)
async def test_no_variable_of_the_environment_changes_the_way(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        monkeypatch.setenv(name, TRAPS[name])
    with ProviderServer(HELLO) as server:
        async with connected(server) as model:
            assert (await ask(model)).text == "Hello"
    [request] = server.requests
    assert request.path == PATH
    assert request.headers["x-goog-api-key"] == KEY
    assert "authorization" not in request.headers
    assert "elsewhere" not in json.dumps([request.path, dict(request.headers)])


@pytest.mark.anyio
async def test_a_variable_that_asks_for_another_http_client_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    monkeypatch.setattr("google.genai._api_client.httpx", None)
    with ProviderServer(HELLO) as server:
        async with connected(server) as model:
            with pytest.raises(ConfigError, match="GOOGLE_GENAI_HTTP_CLIENT"):
                await ask(model)
    assert server.requests == []


def test_nothing_is_loaded_before_the_first_request_and_nothing_is_printed() -> None:
    program = (
        "import asyncio, sys\n"
        "from chapters.ch04.adapters import Access, open_model\n"
        "from chapters.ch04.known_servers import KNOWN\n"
        "from shared.messages import Request, UserMessage\n"
        "from shared.provider_server import Answer, ProviderServer\n"
        "async def main():\n"
        "    with ProviderServer(Answer({'candidates': [{'finishReason': 'STOP'}]})) as server:\n"
        "        access = Access(server.base_url, 'a-key', 'm')\n"
        "        async with open_model(KNOWN['gemini'], access) as model:\n"
        "            print({'google.genai', 'httpx2', 'pydantic'} & set(sys.modules))\n"
        "            reply = await model.reply(Request((UserMessage('hi'),)), print)\n"
        "            print(reply.stop)\n"
        "asyncio.run(main())\n"
    )
    environment = {**os.environ, "GOOGLE_API_KEY": "one", "GEMINI_API_KEY": "two"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout.split(), done.stderr) == (["set()", "end_turn"], "")


@pytest.mark.parametrize(
    ("key", "model", "names"),
    [
        ("", "a-model", "WORKBOOK_API_KEY"),
        ("auth_tokens/abc", "a-model", "WORKBOOK_API_KEY"),
        (KEY, "", "WORKBOOK_MODEL"),
        (KEY, "a model", "WORKBOOK_MODEL"),
        (KEY, "a?key=1", "WORKBOOK_MODEL"),
        (KEY, "../files", "WORKBOOK_MODEL"),
        (KEY, "models/a..b", "WORKBOOK_MODEL"),
        (KEY, "a#b", "WORKBOOK_MODEL"),
    ],
)
def test_settings_that_cannot_work_are_refused_before_anything_is_sent(
    key: str, model: str, names: str
) -> None:
    with pytest.raises(ConfigError, match=names):
        open_model(KNOWN["gemini"], Access("http://127.0.0.1:9", key, model))


# Errors.

RETRY_INFO = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7s"}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "names", "retryable", "wait"),
    [
        (error(400, "Bad schema"), "Bad schema", False, None),
        (error(400, "API key not valid.", BAD_KEY), "Check WORKBOOK_API_KEY", False, None),
        (error(403, "No."), "WORKBOOK_API_KEY", False, None),
        (error(404, "models/a-model is not found"), "WORKBOOK_MODEL", False, None),
        (error(429, "Slow down", RETRY_INFO, word="RESOURCE_EXHAUSTED"), "7 seconds", True, 7.0),
        (error(429, "Slow down", {"retryDelay": "0.5s"}), "0.5 seconds", True, 0.5),
        (error(429, "Slow down", {"retryDelay": "soon"}, "x"), "a little", True, None),
        (error(429, "Slow down"), "a little", True, None),
        (error(500, "Internal"), "Internal", True, None),
        (error(503, "The model is overloaded."), "overloaded", True, None),
        (Answer([{"error": {"message": "In a list"}}], status=400), "says: In a list", False, None),
        (Answer("<html>Bad gateway</html>", status=502), "Bad gateway", True, None),
        (Answer(b"\xff\xfe{", status=500), "problem", True, None),
        (Answer("[" * 100_000, status=500), "problem", True, None),
        (Answer("null", status=500), "problem", True, None),
        (Answer("", status=429, headers={"Retry-After": "3"}), "3 seconds", True, 3.0),
        (Answer("", status=304), "No chat provider", False, None),
        (
            error(400, "The input token count exceeds the maximum context length"),
            "longer than the model can read",
            False,
            None,
        ),
    ],
)
async def test_an_error_becomes_advice_and_is_asked_about_once(
    given: Answer, names: str, retryable: bool, wait: float | None
) -> None:
    with ProviderServer(given) as server:
        failed = await failing(server)
    assert names in str(failed)
    assert (failed.kind, failed.status) == ("provider", given.status)
    assert (failed.retryable, failed.retry_after) == (retryable, wait)
    assert len(server.requests) == 1


@pytest.mark.anyio
async def test_the_words_of_the_provider_are_kept_for_a_program() -> None:
    with ProviderServer(error(429, "Slow down", word="RESOURCE_EXHAUSTED")) as server:
        failed = await failing(server)
    assert (failed.code, failed.type) == ("429", "RESOURCE_EXHAUSTED")


@pytest.mark.anyio
async def test_a_key_in_an_error_is_not_shown() -> None:
    with ProviderServer(error(400, f"API key {KEY} is no good")) as server:
        assert "[key]" in str(await failing(server))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "given",
    [
        Answer("<html>Sign in</html>", content_type="text/html"),
        Answer(""),
        Answer('{"candidates": ['),
        Answer(b"\xff\xfe\x00", content_type="text/plain; charset=nonsense"),
        Answer("[" * 100_000),
        Answer({"candidates": []}),
        Answer({"choices": []}),
    ],
    ids=["page", "nothing", "half", "bytes", "nested", "no candidate", "another API"],
)
async def test_an_answer_that_is_no_reply_is_told_from_an_error(given: Answer) -> None:
    with ProviderServer(given) as server:
        failed = await failing(server)
    assert (failed.kind, failed.status) == ("bad_response", 200)
    assert "is not a reply of Gemini" in str(failed)


@pytest.mark.anyio
async def test_an_error_inside_a_good_status_is_an_error() -> None:
    with ProviderServer(Answer({"error": {"code": 503, "message": "overloaded"}})) as server:
        failed = await failing(server)
    assert (failed.kind, failed.status, failed.retryable) == ("provider", 503, True)


@pytest.mark.anyio
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_named_and_not_followed(status: int) -> None:
    with ProviderServer(HELLO) as elsewhere:
        away = Answer(status=status, headers={"Location": f"{elsewhere.base_url}/x"})
        with ProviderServer(away) as server:
            failed = await failing(server)
        assert elsewhere.requests == []
    assert "sends you on to the host 127.0.0.1" in str(failed)


@pytest.mark.anyio
@pytest.mark.parametrize("status", [200, 500])
async def test_an_answer_without_end_is_given_up(status: int) -> None:
    packed = gzip.compress(b" " * 30_000_000)
    given = Answer(packed, status=status, headers={"Content-Encoding": "gzip"})
    with ProviderServer(given) as server:
        failed = await failing(server)
    assert "longer than 20 MB" in str(failed)
    assert (failed.kind, failed.status) == ("bad_response", status)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (Answer(status=None, ending=Ending.DROPPED), "connection"),
        (Answer('{"cand', ending=Ending.DROPPED), "connection"),
        (Answer(b"no gzip", headers={"Content-Encoding": "gzip"}), "connection"),
        (Answer(status=None, ending=Ending.HANGING), "timeout"),
        (Answer('{"cand', ending=Ending.HANGING), "timeout"),
    ],
    ids=["hung up", "cut off", "not unpackable", "silence", "endless"],
)
async def test_no_whole_answer_is_told_apart_and_asked_for_once(given: Answer, kind: str) -> None:
    with ProviderServer(given) as server:
        failed = await failing(server, timeout=0.3 if kind == "timeout" else 30)
    assert (failed.kind, failed.retryable, len(server.requests)) == (kind, True, 1)


@pytest.mark.anyio
async def test_nobody_there_is_advice() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        access = Access(f"http://127.0.0.1:{free.getsockname()[1]}", KEY, "a-model")
        async with open_model(KNOWN["gemini"], access) as model:
            with pytest.raises(ProviderError, match="Is the server running"):
                await ask(model)


@pytest.mark.anyio
async def test_a_server_out_of_reach_is_told_from_a_slow_one() -> None:
    with socket.socket() as full:  # takes no connection: its queue is full
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(address)
        access = Access(f"http://127.0.0.1:{address[1]}", KEY, "a-model")
        there = open_model(KNOWN["gemini"], access)._connection.endpoint
        connection = GeminiConnection(there, timeout=20, connect_timeout=0.2)
        with pytest.raises(ProviderError, match=r"could not be reached within 0\.2 seconds"):
            await connection.post(b"{}")
        await connection.aclose()
        for one in waiting:
            one.close()


@pytest.mark.anyio
async def test_cancelling_hangs_up_and_the_next_request_works() -> None:
    with ProviderServer(Answer(status=None, ending=Ending.HANGING), HELLO) as server:
        async with connected(server) as model:
            asking = asyncio.create_task(ask(model))
            await asyncio.to_thread(server.asked.wait, 10)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(server.hung_up.wait, 10)
            assert (await ask(model)).text == "Hello"


@pytest.mark.anyio
async def test_closing_ends_the_connections_and_the_next_request_opens_new_ones() -> None:
    with ProviderServer(HELLO, HELLO) as server:
        model = connected(server)
        await model.aclose()
        await ask(model)
        await model.aclose()
        assert await asyncio.to_thread(server.closed.wait, 10)
        assert (await ask(model)).text == "Hello"
        await model.aclose()
        await model.aclose()


# The client does nothing on its own.


@pytest.mark.anyio
async def test_a_reply_that_asks_to_be_continued_is_not_asked_for_again() -> None:
    half = answer({"text": "He"}, finish="CONTINUATION", continuationToken="dG9rZW4=")
    with ProviderServer(half, HELLO) as server:
        async with connected(server) as model:
            reply = await ask(model)
    assert (reply.text, reply.stop, reply.finish) == ("He", StopReason.UNKNOWN, "CONTINUATION")
    assert len(server.requests) == 1


@pytest.mark.anyio
async def test_calls_are_handed_on_and_run_by_nobody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    call = answer({"functionCall": {"name": "list_files", "args": {}, "id": "x"}})
    with ProviderServer(call, HELLO) as server:
        async with connected(server) as model:
            reply = await model.reply(Request((UserMessage("q"),), (SPEC,)), lambda event: None)
    assert reply.calls == (ToolCall("x", "list_files", "{}"),)
    assert len(server.requests) == 1
    assert "AFC" not in caplog.text
    assert KEY not in caplog.text


@pytest.mark.anyio
async def test_one_client_serves_all_requests_and_leaves_nothing_behind() -> None:
    with ProviderServer(HELLO, HELLO) as server:
        async with connected(server) as model:
            connection = model._connection
            assert isinstance(connection, GeminiConnection)
            await ask(model)
            first = connection._opened
            await ask(model)
            assert connection._opened is first
            assert not server.closed.is_set()
    assert EXCHANGE.get(None) is None


@pytest.mark.anyio
async def test_each_switch_of_the_client_is_off_on_its_own() -> None:
    """Any one of them would do today, as the client gets neither tools nor an answer to read."""
    with ProviderServer(HELLO) as server:
        async with connected(server) as model:
            connection = model._connection
            assert isinstance(connection, GeminiConnection)
            await ask(model)
            assert connection._opened
            config = connection._opened.config
    assert config.should_return_http_response is True
    assert config.automatic_continuation is False
    assert config.automatic_function_calling
    assert config.automatic_function_calling.disable is True
    assert config.tools is None
