"""The live path: real agent, real adapter, real SDK, real HTTP; only the provider is a script."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from chapters import ch02
from chapters.ch01.environment import child_environment
from chapters.ch01.local_commands import LocalCommands
from chapters.ch01.openai_chat import OpenAIChat
from chapters.ch02.local_files import LocalFiles
from shared.conversation import Conversation
from shared.errors import ConfigError, ProviderError
from shared.events import Event, RunEnded
from shared.messages import AssistantMessage, Request, StopReason, Text, ToolResult, UserMessage
from shared.plan import Kit
from shared.provider_server import Answer, Ending, ProviderServer, Received, completion, wire_call
from shared.testing import FakeApprover, FakeCommands

ROOT = Path(__file__).resolve().parent.parent
VECTORS = ROOT / "tests" / "vectors"
KEY = "sk-test-0123456789abcdefghij"
HELLO = Answer(completion(text="Hello"))


@pytest.fixture(autouse=True)
def _no_proxy_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "WORKBOOK_")):
            monkeypatch.delenv(name)


@asynccontextmanager
async def connected(server: ProviderServer, **options: Any) -> AsyncIterator[OpenAIChat]:
    settings = {"base_url": server.base_url, "api_key": KEY, "model": "a-model", **options}
    async with OpenAIChat(**settings) as model:
        yield model


async def ask_once(model: OpenAIChat, prompt: str = "hi") -> AssistantMessage:
    return await model.reply(Request((UserMessage(prompt),)), lambda event: None)


class Workspace:
    """A folder, an agent of chapter 2 in it, and everything that agent told its listeners."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files = LocalFiles(root)
        self.events: list[Event] = []
        self.approver = FakeApprover("yes")

    def agent(self, model: OpenAIChat, *, real_shell: bool = False) -> Conversation:
        environment = child_environment(os.environ, [KEY])
        commands = LocalCommands(self.root, environment=environment) if real_shell else None
        kit = Kit(model, self.files, commands or FakeCommands(), self.approver)
        return ch02.plan(kit).with_listeners(self.events.append).build(kit)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    place = Workspace(tmp_path)
    yield place
    place.files.close()


def tools_on_the_wire(workspace: Workspace) -> list[dict[str, Any]]:
    kit = Kit(None, workspace.files, FakeCommands())  # type: ignore[arg-type]
    return [
        {
            "type": "function",
            "function": {
                "name": tool.spec.name,
                "description": tool.spec.description,
                "parameters": tool.spec.parameters,
            },
        }
        for tool in ch02.plan(kit).tools
    ]


# A whole task


@pytest.mark.anyio
async def test_a_whole_task_of_chapter_2_over_the_wire(workspace: Workspace) -> None:
    calls = [
        wire_call("call_a", "write_file", {"path": "demo/note.txt", "content": "alpha\nalpha\n"}),
        wire_call(
            "call_b",
            "edit_file",
            {"path": "demo/note.txt", "old_text": "alpha", "new_text": "gamma"},
        ),
        wire_call("call_c", "read_file", {"path": "demo/note.txt"}),
        wire_call("call_d", "glob", {"pattern": "demo/*.txt"}),
    ]
    script = (
        Answer(completion(*calls, text="I begin.")),
        Answer(completion(text="Done."), piece=1),
    )
    with ProviderServer(*script) as server:
        async with connected(server) as model:
            reply = await workspace.agent(model).ask("Make a note.")

    assert (reply.text, reply.stop) == ("Done.", StopReason.END_TURN)
    assert (workspace.root / "demo/note.txt").read_bytes() == b"gamma\nalpha\n"

    first, second = server.requests
    tools = tools_on_the_wire(workspace)
    names = [tool["function"]["name"] for tool in tools]
    assert names == ["shell", "read_file", "write_file", "edit_file", "glob"]
    assert (first.method, first.path) == ("POST", "/v1/chat/completions")
    assert first.headers["authorization"] == f"Bearer {KEY}"
    prompt = {"role": "user", "content": "Make a note."}
    assert first.body == {"model": "a-model", "messages": [prompt], "tools": tools}
    assert second.body == {
        "model": "a-model",
        "messages": [
            prompt,
            {"role": "assistant", "content": "I begin.", "tool_calls": calls},
            {
                "role": "tool",
                "tool_call_id": "call_a",
                "content": "Wrote 12 bytes to demo/note.txt",
            },
            {"role": "tool", "tool_call_id": "call_b", "content": "Edited demo/note.txt"},
            {"role": "tool", "tool_call_id": "call_c", "content": "gamma\nalpha\n"},
            {"role": "tool", "tool_call_id": "call_d", "content": "demo/note.txt"},
        ],
        "tools": tools,
    }


@pytest.mark.anyio
async def test_what_a_tool_read_reaches_the_model_and_the_answer(workspace: Workspace) -> None:
    word = uuid4().hex
    (workspace.root / "clue.txt").write_text(f"The word is {word}.\n", encoding="utf-8")

    def answer_from_the_file(received: Received) -> Answer:
        said = received.body["messages"][-1]["content"]
        return Answer(completion(text=said.split()[-1].rstrip(".")))

    asking = Answer(completion(wire_call("call_1", "read_file", {"path": "clue.txt"})))
    with ProviderServer(asking, answer_from_the_file) as server:
        async with connected(server) as model:
            reply = await workspace.agent(model).ask("Which word?")
    assert reply.text == word


@pytest.mark.anyio
async def test_calls_that_cannot_run_are_answered_and_the_run_goes_on(workspace: Workspace) -> None:
    script = completion(
        wire_call("same", "write_file", '{"path": "a.txt", "content": '),
        wire_call("same", "no such tool", {}),
        wire_call("", "read_file", {"path": "../secret.txt"}),
        {"id": "custom", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
    )
    with ProviderServer(Answer(script), HELLO) as server:
        async with connected(server) as model:
            reply = await workspace.agent(model).ask("Try.")

    assert reply.text == "Hello"
    assert list(workspace.root.iterdir()) == []
    _, asked, *answers = server.requests[1].body["messages"]
    ids = [call["id"] for call in asked["tool_calls"]]
    assert ids[0] == "same"
    assert len(set(ids)) == 4
    assert [answer["tool_call_id"] for answer in answers] == ids
    codes = ["invalid_json", "unknown_tool", "path_escape", "unknown_tool"]
    for answer, code in zip(answers, codes, strict=True):
        assert answer["content"].startswith(f"Error [{code}]: ")
    # What goes back is what every server takes: broken arguments and illegal names do not.
    functions = [call["function"] for call in asked["tool_calls"]]
    assert [function["name"] for function in functions] == [
        "write_file", "no_such_tool", "read_file", "sql",
    ]  # fmt: skip
    assert [json.loads(function["arguments"]) for function in functions] == [
        {}, {}, {"path": "../secret.txt"}, {},
    ]  # fmt: skip


@pytest.mark.anyio
async def test_a_provider_that_counts_its_calls_anew_in_each_reply(workspace: Workspace) -> None:
    again = Answer(completion(wire_call("call_0", "glob", {"pattern": "*"})))
    with ProviderServer(again, again, HELLO) as server:
        async with connected(server) as model:
            await workspace.agent(model).ask("Look twice.")
    _, first, answer, second, other_answer = server.requests[2].body["messages"]
    assert first["tool_calls"][0]["id"] == answer["tool_call_id"] == "call_0"
    assert second["tool_calls"][0]["id"] == other_answer["tool_call_id"] != "call_0"


@pytest.mark.anyio
async def test_a_reply_that_was_cut_off_runs_nothing_and_is_asked_again(
    workspace: Workspace,
) -> None:
    cut = completion(
        wire_call("call_1", "write_file", {"path": "a.txt", "content": "half"}), finish="length"
    )
    with ProviderServer(Answer(cut), HELLO) as server:
        async with connected(server) as model:
            await workspace.agent(model).ask("Write.")
    assert list(workspace.root.iterdir()) == []
    assert "reply_cut_off" in server.requests[1].body["messages"][-1]["content"]


# Failures

QUOTA = {
    "error": {
        "message": f"You exceeded your current quota. Key {KEY}.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
}


def said(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def page(text: str, status: int = 200) -> Answer:
    return Answer(text, status, "text/html")


# The answer, what the message must name, whether trying again makes sense.
REFUSED = [
    (Answer(said(f"Incorrect API key provided: {KEY}."), 401), "WORKBOOK_API_KEY", False),
    (Answer(said("Country not supported"), 403), "WORKBOOK_API_KEY", False),
    (Answer(said("No such model", code="model_not_found"), 404), "WORKBOOK_MODEL", False),
    (page("<h1>Not Found</h1>", 404), "WORKBOOK_BASE_URL", False),
    (Answer(said("Slow down"), 429, headers={"retry-after": "9"}), "Wait 9 seconds", True),
    (Answer(QUOTA, 429), "billing", False),
    (Answer(said("Oops"), 500), "Try again", True),
    (page("<html>Bad Gateway\x1b[2J</html>", 502), "proxy", True),
    (Answer("", 302), "WORKBOOK_BASE_URL", False),
    (Answer(said("Busy")), "Busy", True),
    (Answer(said(f"Bad {KEY}", code=400)), "WORKBOOK_MODEL", False),
    (Answer({"object": "error", "code": 400, "message": f"Bad {KEY}"}), "WORKBOOK_MODEL", False),
    (Answer({"type": "error", "code": "rate_limit_exceeded"}), "Too many", True),
]
NO_REPLY = [
    (page("<!doctype html><title>Sign in</title>"), "WORKBOOK_BASE_URL", True),
    (Answer(""), "It is empty", True),
    (Answer("", 204), "It is empty", True),
    (Answer('{"id": "chatcmpl-1", "choices": [{"me'), "not JSON", True),
    (Answer(b'{"choices": "\xff"}'), "not JSON", True),
    (Answer("[" * 100_000), "not JSON", True),
    (Answer('data: {"choices": []}\n\n', content_type="text/event-stream"), "not JSON", True),
    (Answer("7"), "`choices`", True),
    (Answer({"choices": None}), "`choices`", True),
    (Answer({"choices": []}), "`choices` is empty", True),
]
NO_ANSWER = [
    (Answer('{"id":', ending=Ending.DROPPED), "Try again", True),
    (Answer('{"id":', 500, ending=Ending.DROPPED), "Try again", True),
    (Answer(status=None, ending=Ending.DROPPED), "Try again", True),
    (Answer("{}", headers={"content-encoding": "gzip"}), "Try again", True),
]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("answer", "names", "kind", "retryable"),
    [(row[0], row[1], "provider", row[2]) for row in REFUSED]
    + [(row[0], row[1], "bad_response", row[2]) for row in NO_REPLY]
    + [(row[0], row[1], "connection", row[2]) for row in NO_ANSWER],
)
async def test_a_failure_is_one_typed_error_that_says_what_to_do(
    answer: Answer,
    names: str,
    kind: str,
    retryable: bool,
    workspace: Workspace,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    with ProviderServer(answer) as server:
        async with connected(server) as model:
            conversation = workspace.agent(model)
            with pytest.raises(ProviderError) as caught:
                await conversation.ask("hi")

    error = caught.value
    assert names in str(error)
    assert (error.kind, error.retryable) == (kind, retryable)
    said_400 = isinstance(answer.body, dict) and '"code": 400' in json.dumps(answer.body)
    status = 400 if said_400 else answer.status  # a number inside is what the status should be
    assert error.status == (None if kind == "connection" else status)
    assert "\x1b" not in str(error)
    assert len(str(error)) < 700
    assert len(server.requests) == 1  # the SDK does not try again on its own
    # The error is all there is: no exception of the SDK, which knows the request, hangs on it.
    assert error.__cause__ is None
    assert error.__context__ is None
    shown = "".join(traceback.format_exception(error))
    assert KEY not in f"{shown}{workspace.events}{caplog.text}"
    ended = workspace.events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.error is error
    assert list(conversation.history) == [UserMessage("hi")]


@pytest.mark.anyio
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_conversation_follows_a_redirect_to_another_host(status: int) -> None:
    with ProviderServer(HELLO) as elsewhere:
        target = f"{elsewhere.base_url.replace('127.0.0.1', 'localhost')}/chat/completions"
        with ProviderServer(Answer("", status, headers={"location": target})) as server:
            async with connected(server) as model:
                with pytest.raises(ProviderError) as caught:
                    await ask_once(model, "Our secret plans")
        assert elsewhere.requests == []
    error = caught.value
    assert (error.kind, error.status, error.retryable) == ("provider", status, False)
    assert "the host localhost. Nothing was sent there" in str(error)
    address = target.removesuffix("/chat/completions")
    assert f"If you trust {address}, put that address into WORKBOOK_BASE_URL" in str(error)


BOMB = gzip.compress(b" " * 60_000_000, compresslevel=1)
ZIPPED = {"content-encoding": "gzip"}


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer",
    [
        Answer(b" " * 60_000_000, piece=100_000),
        Answer(BOMB, headers=ZIPPED),
        Answer(BOMB, 500, headers=ZIPPED),
        Answer(BOMB, 307, headers=ZIPPED | {"location": "http://host.invalid/"}),
        Answer(gzip.compress(BOMB), headers={"content-encoding": "gzip, gzip"}),
    ],
    ids=["long", "packed", "an error", "a redirect", "packed twice"],
)
async def test_an_answer_without_end_is_not_read_to_its_end(answer: Answer) -> None:
    with ProviderServer(answer, HELLO) as server:
        async with connected(server) as model:
            with pytest.raises(ProviderError, match="longer than 20 MB") as caught:
                await ask_once(model)
            assert await asyncio.to_thread(server.closed.wait, 5)  # the rest is not waited for
            assert (await ask_once(model)).text == "Hello"
    error = caught.value
    assert (error.kind, error.status, error.retryable) == ("bad_response", answer.status, False)
    assert error.__context__ is None


@pytest.mark.anyio
async def test_a_packed_answer_and_a_long_one_are_read() -> None:
    packed = gzip.compress(json.dumps(completion(text="Packed")).encode())
    long = Answer(completion(text="x" * 10_000_000))
    with ProviderServer(Answer(packed, headers=ZIPPED), long) as server:
        async with connected(server) as model:
            assert (await ask_once(model)).text == "Packed"
            assert len((await ask_once(model)).text) == 10_000_000


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=None, ending=Ending.HANGING),
        Answer('{"id":', ending=Ending.HANGING),
        Answer(said("later"), 500, ending=Ending.HANGING),
    ],
    ids=["no answer", "half an answer", "half an error"],
)
async def test_a_silent_provider_is_left_when_the_time_is_up(answer: Answer) -> None:
    with ProviderServer(HELLO, answer) as server:
        async with connected(server) as model:
            await ask_once(model)  # loads the SDK, so that what is timed below is the wait alone
        async with connected(server, timeout=0.3) as model:
            with pytest.raises(ProviderError, match=r"within 0\.3 seconds") as caught:
                await ask_once(model)
            assert (caught.value.kind, caught.value.retryable) == ("timeout", True)
            assert await asyncio.to_thread(server.hung_up.wait, 5)


@pytest.mark.anyio
async def test_a_server_that_is_not_there(workspace: Workspace) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with OpenAIChat(base_url=f"http://127.0.0.1:{port}/v1", api_key=KEY, model="m") as model:
        with pytest.raises(ProviderError, match="Nothing answers") as caught:
            await ask_once(model)
    assert (caught.value.kind, caught.value.retryable) == ("connection", True)


@pytest.mark.anyio
async def test_https_to_a_server_without_it() -> None:
    with ProviderServer() as server:
        async with connected(server, base_url=server.base_url.replace("http", "https")) as model:
            with pytest.raises(ProviderError, match="http:// and not https://") as caught:
                await ask_once(model)
    assert caught.value.kind == "connection"


@pytest.mark.anyio
async def test_an_address_only_the_sdk_knows_to_be_wrong() -> None:
    async with OpenAIChat(base_url="http://999.1.1.1/v1", api_key=KEY, model="m") as model:
        with pytest.raises(ConfigError, match="WORKBOOK_BASE_URL"):
            await ask_once(model)


# The key


@pytest.mark.anyio
async def test_the_key_is_in_the_request_header_and_nowhere_else(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("WORKBOOK_API_KEY", KEY)
    monkeypatch.setenv("SOME_OTHER_NAME", KEY)
    monkeypatch.setenv("MARKER_OF_THIS_TEST", "here")
    caplog.set_level(logging.DEBUG)
    command = "env" if os.name == "posix" else "Get-ChildItem Env: | Format-List"
    asking = Answer(completion(wire_call("call_1", "shell", {"command": command})))
    with ProviderServer(asking, HELLO) as server:
        async with connected(server) as model:
            conversation = workspace.agent(model, real_shell=True)
            await conversation.ask("Look around.")

    result = conversation.history[2]
    assert isinstance(result, ToolResult)
    assert "MARKER_OF_THIS_TEST" in result.text
    assert all(KEY in received.headers["authorization"] for received in server.requests)
    bodies = [received.body for received in server.requests]
    everything = f"{bodies}{workspace.events}{list(conversation.history)}{caplog.text}"
    assert KEY not in everything


@pytest.mark.anyio
async def test_variables_meant_for_another_provider_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", f"foreign-{name.lower()}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with ProviderServer(HELLO) as server:
        async with connected(server) as model:
            await ask_once(model)
    assert "foreign" not in str(server.requests[0].headers)


# Stopping


@pytest.mark.anyio
async def test_a_cancelled_request_is_given_up_and_the_next_one_works(workspace: Workspace) -> None:
    tasks = asyncio.all_tasks()
    with ProviderServer(Answer(status=None, ending=Ending.HANGING), HELLO) as server:
        async with connected(server) as model:
            conversation = workspace.agent(model)
            asking = asyncio.create_task(conversation.ask("hi"))
            assert await asyncio.to_thread(server.asked.wait, 5)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert await asyncio.to_thread(server.hung_up.wait, 5)
            reply = await conversation.ask("again")
    assert reply.text == "Hello"
    assert asyncio.all_tasks() == tasks


@pytest.mark.skipif(os.name != "posix", reason="there is no other way to press Ctrl-C here")
def test_ctrl_c_ends_a_program_at_once_and_without_noise() -> None:
    program = (
        "import asyncio, signal, sys\n"
        "from chapters.ch01.openai_chat import OpenAIChat\n"
        "from shared.messages import Request, UserMessage\n"
        "async def main():\n"
        "    url, key = sys.argv[1:]\n"
        "    async with OpenAIChat(base_url=url, api_key=key, model='m') as model:\n"
        "        await model.reply(Request((UserMessage('hi'),)), print)\n"
        # What a shell has started in the background ignores the signal, and so would its children.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    asyncio.run(main())\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(130)\n"
    )
    with ProviderServer(Answer('{"id":', ending=Ending.HANGING)) as server:
        running = subprocess.Popen(
            [sys.executable, "-W", "always", "-c", program, server.base_url, KEY],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        with running:
            try:
                assert server.asked.wait(20)
                running.send_signal(signal.SIGINT)
                output, _ = running.communicate(timeout=10)
            finally:
                running.kill()
    assert (running.returncode, output) == (130, "")


@pytest.mark.anyio
async def test_a_connection_is_kept_between_requests_and_closed_at_the_end() -> None:
    with ProviderServer(HELLO, HELLO, HELLO) as server:
        async with connected(server) as model:
            await ask_once(model)
            await ask_once(model)
            assert not server.closed.is_set()
        assert await asyncio.to_thread(server.closed.wait, 5)
        assert (await ask_once(model)).text == "Hello"  # opens a new one
        await model.aclose()


# What real servers and public reports have shown


def rows() -> list[dict[str, Any]]:
    text = (VECTORS / "wire" / "index.jsonl").read_text(encoding="utf-8")
    every = [json.loads(line) for line in text.splitlines()]
    chat = ("openai-chat", "openai-compat")
    return [row for row in every if row["mode"] == "nonstream" and row["api"] in chat]


def script_of(row: dict[str, Any]) -> list[Answer]:
    http = row["http"]
    before = [
        Answer(
            entry["body"],
            entry["status"],
            entry.get("content_type", "application/json"),
            entry.get("headers", {}),
        )
        for entry in http.get("before", [])
    ]
    body = (VECTORS / "wire" / row["file"]).read_bytes()
    last = Answer(body, http.get("status", 200), http["content_type"], http.get("headers", {}))
    return [*before, last]


@pytest.mark.anyio
@pytest.mark.parametrize("row", rows(), ids=lambda row: row["file"])
async def test_a_known_answer_is_understood(row: dict[str, Any]) -> None:
    """Each request is made once; asking again, here by hand, is for chapter 5."""
    expect = row["expect"]
    reply: AssistantMessage | None = None
    error: ProviderError | None = None
    with ProviderServer(*script_of(row)) as server:
        async with connected(server) as model:
            for _ in range(expect.get("requests", 1)):
                assert error is None or error.retryable
                try:
                    reply = await ask_once(model)
                except ProviderError as caught:
                    error = caught
    assert len(server.requests) == expect.get("requests", 1)

    if expect["error"]:
        assert reply is None
        assert error is not None
        for name in expect["error"].keys() & {"kind", "status", "retryable"}:
            assert getattr(error, name) == expect["error"][name]
        return
    assert reply is not None
    message = expect["message"]
    assert reply.text == message["text"]
    assert reply.stop == expect["stop_reason"]
    assert reply.usage is not None
    assert reply.usage.input_tokens == message["usage"]["input"]
    assert reply.usage.output_tokens == message["usage"]["output"]
    assert [
        {"id": call.id, "name": call.name, "arguments": json.loads(call.arguments)}
        for call in reply.calls
    ] == [
        {name: call[name] for name in ("id", "name", "arguments")} for call in message["tool_calls"]
    ]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("file", "status", "names"),
    [
        ("ls-smol-13-bad-key-401.json", 401, "WORKBOOK_API_KEY"),
        ("ls-qwen-11-context-overflow.json", 400, "smaller task"),
        ("ls-qwen-12-loading-503.json", 503, "Loading model"),
        ("lcp-07-answer-content-absent.json", 500, "has no attribute 'content'"),
    ],
)
async def test_an_error_of_a_real_server_is_understood(file: str, status: int, names: str) -> None:
    body = (VECTORS / "recorded" / file).read_bytes()
    with ProviderServer(Answer(body, status)) as server:
        async with connected(server) as model:
            with pytest.raises(ProviderError, match=names) as caught:
                await ask_once(model)
    assert caught.value.status == status


@pytest.mark.anyio
async def test_a_call_of_a_real_server_is_understood() -> None:
    """It sends the call twice, in the old form and the new; it is one call."""
    body = (VECTORS / "recorded" / "lcp-03-tool-forced.json").read_bytes()
    with ProviderServer(Answer(body)) as server:
        async with connected(server) as model:
            reply = await ask_once(model)
    (call,) = reply.calls
    assert (call.name, call.arguments) == ("read_file", '{"path": "note.txt"}')
    assert reply.stop is StopReason.TOOL_USE


@pytest.mark.anyio
async def test_text_with_half_a_surrogate_pair_can_be_sent_and_received() -> None:
    answer = Answer(r'{"choices":[{"message":{"content":"a\ud83db"},"finish_reason":"stop"}]}')
    with ProviderServer(answer) as server:
        async with connected(server) as model:
            reply = await ask_once(model, "c\ud83dd")
    assert reply.content == (Text("a\ufffdb"),)
    assert server.requests[0].body["messages"][0]["content"] == "c\ufffdd"


@pytest.mark.anyio
async def test_a_key_that_comes_back_as_the_finish_reason_is_not_shown() -> None:
    choice = {"message": {"content": "hi"}, "finish_reason": f"x {KEY}"}
    with ProviderServer(Answer({"choices": [choice]})) as server:
        async with connected(server) as model:
            assert (await ask_once(model)).finish == "x [key]"
