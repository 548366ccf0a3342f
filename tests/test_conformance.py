"""`workbook conformance`: the known set holds, and the suite is not blind."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chapters.ch04 import adapters
from chapters.ch04.conformance.requests import KEYS, record_for
from chapters.ch04.conformance.rows import Row, load
from chapters.ch04.conformance.suite import run
from chapters.ch04.conformance.verdicts import Outcome, Verdict
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api
from chapters.ch04.refusals import refusals
from chapters.ch04.wire import Wire
from chapters.ch05.stream_conformance import PLAYERS
from shared.messages import AssistantMessage, StopReason, ToolCall
from shared.provider_server import Answer, ProviderServer, Received, Script, completion, wire_call
from tests.command_line import Workbook

ROWS = load(Path(__file__).parent / "vectors" / "wire")


@pytest.fixture(autouse=True)
def _no_proxy_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_")):
            monkeypatch.delenv(name)


NO_GEMINI = (
    "the package google.genai is not installed; in the workbook's folder: "
    "pip install -e '.[gemini]'"
)


def played(rows: list[Row]) -> list[Verdict]:
    return asyncio.run(run(rows))


def rows_of(*files: str) -> list[Row]:
    return [row for row in ROWS if row.file in files]


def failed(verdicts: list[Verdict]) -> set[str]:
    return {each.row.file for each in verdicts if each.outcome is Outcome.FAILS}


def test_every_known_row_holds() -> None:
    verdicts = asyncio.run(run(ROWS, None, PLAYERS))
    wrong = [(each.row.file, each.differences) for each in verdicts if each.differences]
    assert wrong == []
    reasons = {each.reason for each in verdicts if each.outcome is Outcome.NOT_APPLICABLE}
    assert reasons <= {NO_GEMINI}


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row.mode == "request"], ids=lambda row: row.file
)
def test_the_rules_refuse_what_is_bad_and_take_what_is_good(row: Row) -> None:
    api = Api(row.api) if row.api in list(Api) else Api.CHAT
    document = row.document()
    bad, good = ({"tools": _tools(each)} | _body(each, api) for each in _both(document))
    record = record_for(document["good"], KNOWN["openai" if api is Api.CHAT else api])
    assert refusals(api, good, record) == []
    assert refusals(api, bad, record) != []


def _both(document: Any) -> tuple[Any, Any]:
    return document["bad"], document["good"]


def _tools(request: Any) -> list[Any]:
    count = (
        request.get("tools_count", request.get("tools_count_max", 1)) if _body_like(request) else 1
    )
    return [
        {"function": {"name": f"tool_{number}"}, "name": f"tool_{number}"}
        for number in range(count)
    ]


def _body(request: Any, api: Api) -> dict[str, Any]:
    if _body_like(request):
        return {"messages": [{"role": "user", "content": "go"}], **request}
    return {KEYS[api]: request, "max_tokens": 64}


def _body_like(request: Any) -> bool:
    return isinstance(request, dict)


# What goes wrong in an adapter, and the rows that have to notice.
Break = Callable[[Wire], Wire]


def reply_broken(change: Callable[[AssistantMessage], AssistantMessage]) -> Break:
    return lambda wire: replace(wire, reply=lambda body, target: change(wire.reply(body, target)))


def items_broken(change: Callable[[dict[str, Any]], object]) -> Break:
    def broken(wire: Wire) -> Wire:
        def items(group: Any, target: Any) -> list[dict[str, Any]]:
            made: list[dict[str, Any]] = json.loads(json.dumps(wire.items(group, target)))
            for item in made:
                _walk(item, change)
            return made

        return replace(wire, items=items)

    return broken


def _walk(value: Any, change: Callable[[dict[str, Any]], object]) -> None:
    if isinstance(value, dict):
        change(value)
    for inner in list(value.values()) if isinstance(value, dict) else value:
        if isinstance(inner, dict | list):
            _walk(inner, change)


def without(*names: str) -> Break:
    return items_broken(lambda item: [item.pop(name, None) for name in names])


def other_ids(reply: AssistantMessage) -> AssistantMessage:
    content = [
        replace(part, id="") if isinstance(part, ToolCall) else part for part in reply.content
    ]
    return replace(reply, content=tuple(content))


def cached_twice(reply: AssistantMessage) -> AssistantMessage:
    usage = reply.usage
    more = usage and replace(usage, input_tokens=usage.input_tokens + usage.cached_tokens)
    return replace(reply, usage=more)


def unsigned(reply: AssistantMessage) -> AssistantMessage:
    content = [replace(part, signature="") for part in reply.content]
    return replace(reply, content=tuple(content))


def crash(reply: AssistantMessage) -> AssistantMessage:
    raise KeyError("choices")


def speechless(wire: Wire) -> Wire:
    return replace(wire, items=lambda group, target: [])


BROKEN: list[tuple[str, Api, Break, str]] = [
    ("the id of a call is lost", Api.CHAT, reply_broken(other_ids), "chat_ns_tool.json"),
    ("the id of a call is lost", Api.RESPONSES, reply_broken(other_ids), "resp_ns_call.json"),
    (
        "calls do not count",
        Api.CHAT,
        reply_broken(lambda reply: replace(reply, stop=StopReason.END_TURN)),
        "chat_ns_tool.json",
    ),
    (
        "a stop reason is not known",
        Api.ANTHROPIC,
        reply_broken(lambda reply: replace(reply, stop=StopReason.UNKNOWN)),
        "anth_ns_empty_content.json",
    ),
    ("a reply crashes the reader", Api.CHAT, reply_broken(crash), "chat_ns_tool.json"),
    ("a failure is no failure", Api.ANTHROPIC, without("is_error"), "req_anth_missing_result.json"),
    (
        "a signature is lost",
        Api.GEMINI,
        without("thoughtSignature"),
        "req_gem_signature_dropped.json",
    ),
    (
        "thinking is lost",
        Api.RESPONSES,
        items_broken(
            lambda item: item.update(type="x") if item.get("type") == "reasoning" else None
        ),
        "req_resp_reasoning_unpaired.json",
    ),
    ("ids are lost on the way", Api.CHAT, without("tool_call_id"), "req_chat_user_between.json"),
    (
        "null stands for no text",
        Api.CHAT,
        items_broken(lambda item: item.update(content=None) if item.get("tool_calls") else None),
        "req_compat_content_null.json",
    ),
    ("nothing is sent", Api.ANTHROPIC, speechless, "req_anth_result_not_first.json"),
]


@pytest.mark.parametrize(
    ("api", "change", "file"),
    [row[1:] for row in BROKEN],
    ids=[f"{row[1]}: {row[0]}" for row in BROKEN],
)
def test_a_broken_adapter_is_noticed(
    monkeypatch: pytest.MonkeyPatch, api: Api, change: Break, file: str
) -> None:
    (row,) = rows_of(file)
    real = adapters.wire_of
    monkeypatch.setattr(adapters, "wire_of", lambda asked: change(real(asked)))
    assert api.value.split("-")[0] in row.api
    assert failed(played([row])) == {file}


# Rows of our own, for what the known set does not have.
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
CACHED: dict[str, Any] = {
    "content": [THOUGHT, {"type": "tool_use", "id": "t1", "name": "get_time", "input": {}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 4},
}
GET_TIME = {"id": "t1", "name": "get_time", "status": "ok", "arguments": {}}


def chat_row(body: Any, expect: dict[str, Any], **http: Any) -> Row:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Row("own.json", "openai-chat", "nonstream", content, expect=expect, http=http)


def no_usage(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "usage"}


def one(status: str, **call: Any) -> dict[str, Any]:
    message = {"text": "", "tool_calls": [{"id": "c", "status": status, **call}]}
    return {"message": message, "stop_reason": "tool_use", "error": None}


def of_call(name: str, arguments: Any, finish: str | None = None) -> dict[str, Any]:
    return no_usage(completion(wire_call("c", name, arguments), finish=finish))


CUT = one("truncated", name="search", raw='{"q": "a') | {"stop_reason": "max_tokens"}
OWN_ROWS: list[tuple[str, Row]] = [
    (
        "an argument that is no JSON",
        chat_row(of_call("search", "{"), one("bad_arguments", name="search", raw="{")),
    ),
    ("a call cut by the limit", chat_row(of_call("search", '{"q": "a', "length"), CUT)),
    ("a tool nobody offered", chat_row(of_call("rm", {}), one("unknown_tool", name="rm"))),
    (
        "two calls with one id",
        chat_row(
            no_usage(completion(wire_call("c", "search", {}), wire_call("c", "search", {}))),
            {
                "message": {
                    "tool_calls": [{"id": "c", "name": "search"}, {"id": None, "name": "search"}]
                },
                "stop_reason": "tool_use",
                "error": None,
            },
        ),
    ),
    (
        "no finish reason",
        chat_row(
            {"choices": [{"message": {"content": "Hi"}}]},
            {"error": {"kind": "incomplete_stream", "retryable": True}},
        ),
    ),
    (
        "a connection that drops",
        chat_row(
            completion(text="Hi"), {"error": {"kind": "connection", "retryable": True}}, end="abort"
        ),
    ),
    (
        "a server that stops in the middle",
        chat_row(
            completion(text="Hi"),
            {"error": {"kind": "timeout", "retryable": True}},
            end="hang",
            client_timeout_s=0.3,
        ),
    ),
    (
        "either of two errors",
        chat_row(
            b"<html>",
            {"error": {"kind": "provider"}, "alt_error": {"kind": "bad_response"}},
            content_type="text/html",
        ),
    ),
    (
        "single bytes",
        chat_row(
            no_usage(completion(text="Grüße 👩‍🚀")),
            {"message": {"text": "Grüße 👩‍🚀"}, "stop_reason": "end_turn", "error": None},
            split_every=1,
        ),
    ),
    (
        "thinking that has to go back, and tokens from a cache",
        Row(
            "own.json",
            "anthropic",
            "nonstream",
            json.dumps(CACHED).encode(),
            expect={
                "message": {
                    "text": "",
                    "tool_calls": [GET_TIME],
                    "reasoning": "hm",
                    "usage": {"input": 15, "output": 7},
                },
                "stop_reason": "tool_use",
                "error": None,
                "echo": [THOUGHT],
            },
        ),
    ),
]


@pytest.mark.parametrize("row", [row for _, row in OWN_ROWS], ids=[name for name, _ in OWN_ROWS])
def test_every_kind_of_row_can_hold(row: Row) -> None:
    (verdict,) = played([row])
    assert verdict.differences == ()


@pytest.mark.parametrize("row", [row for _, row in OWN_ROWS], ids=[name for name, _ in OWN_ROWS])
def test_every_kind_of_row_can_fail(row: Row) -> None:
    """Each expectation is spoiled in turn, and each time it is noticed."""
    if "alt_error" in row.expect:  # one of two may be wrong
        row = replace(row, expect={"error": row.expect["alt_error"]})
    for path, spoiled in spoil(row.expect):
        (verdict,) = played([replace(row, expect=spoiled)])
        assert verdict.outcome is Outcome.FAILS, path


def spoil(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of an expectation made wrong, one at a time."""
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        here = f"{path}.{name}"
        if isinstance(inner, dict | list) and inner:
            changes = list(spoil(inner, here))
        elif inner is None and name == "id":
            continue
        else:
            wrong = {"kind": "provider"} if inner is None else "wrong"
            changes = [(here, wrong)]
        for there, changed in changes:
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[name] = changed
            yield there, copy


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        pytest.param(cached_twice, "usage", id="cached tokens are added twice"),
        pytest.param(unsigned, "echo", id="the signature is lost"),
    ],
)
def test_what_an_adapter_loses_of_a_reply_is_noticed(
    monkeypatch: pytest.MonkeyPatch, change: Any, noticed: str
) -> None:
    real = adapters.wire_of
    monkeypatch.setattr(adapters, "wire_of", lambda asked: reply_broken(change)(real(asked)))
    (verdict,) = played([OWN_ROWS[-1][1]])
    assert noticed in [difference.what for difference in verdict.differences]


NOT_PLAYED = [
    ("stream", "openai-chat", "streaming comes with chapter 5"),
    ("dance", "openai-chat", "the mode dance is not known"),
    ("nonstream", "morse", "no adapter speaks morse"),
    ("schema", "gemini", "no strict schemas in this API"),
]


@pytest.mark.parametrize(("mode", "api", "reason"), NOT_PLAYED)
def test_what_cannot_be_played_is_said_and_no_failure(mode: str, api: str, reason: str) -> None:
    (verdict,) = played([Row("x.json", api, mode, b'{"in": {}}')])
    assert (verdict.outcome, verdict.reason) == (Outcome.NOT_APPLICABLE, reason)


def test_without_the_package_of_gemini_its_rows_are_not_applicable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("chapters.ch04.conformance.adapters.find_spec", lambda name: None)
    (verdict,) = played(rows_of("gem_ns_429.json"))
    assert verdict.reason == NO_GEMINI


# The command.


@pytest.fixture
def few(tmp_path: Path) -> Path:
    """A set with one row that holds, one that does not, and one that nobody can play."""
    folder = tmp_path / "few"
    folder.mkdir()
    hello = {"message": {"text": "Hello"}, "stop_reason": "end_turn", "error": None}
    rows: list[dict[str, Any]] = [
        {"file": "hello.json", "api": "openai-chat", "mode": "nonstream", "expect": hello},
        {"file": "hello.json", "api": "openai-compat", "mode": "nonstream", "what": "\x1b[31mred"},
        {"file": "hello.json", "api": "anthropic", "mode": "dance", "expect": {}},
    ]
    rows[1]["expect"] = {**hello, "message": {"text": "Bye"}}
    (folder / "hello.json").write_text(json.dumps(no_usage(completion(text="Hello"))))
    (folder / "index.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_the_table_says_what_holds_what_does_not_and_why(workbook: Workbook, few: Path) -> None:
    ended = workbook("conformance", str(few))
    assert ended.exit == 1
    assert "✓ hello.json" in ended.out
    assert "✗ hello.json: " in ended.out
    assert 'expected  "Bye"' in ended.out
    assert 'got       "Hello"' in ended.out
    assert "1 row: the mode dance is not known" in ended.out
    assert "1 of 2 rows played do not hold." in ended.out
    assert "\x1b" not in ended.out
    assert max(map(len, ended.out.splitlines())) <= 80


def test_json_says_the_same(workbook: Workbook, few: Path) -> None:
    ended = workbook("conformance", str(few / "index.jsonl"), "--json")
    report = json.loads(ended.out)
    assert (ended.exit, report["ok"]) == (1, False)
    assert report["adapters"]["openai"] == {"holds": 1, "does not hold": 1, "not applicable": 0}
    assert [row["outcome"] for row in report["rows"]] == [
        "holds",
        "does not hold",
        "not applicable",
    ]
    assert report["rows"][1]["differences"] == [
        {"what": "text", "expected": '"Bye"', "got": '"Hello"'}
    ]


def test_the_command_plays_answers_in_events(workbook: Workbook, few: Path) -> None:
    row = {"file": "hi.sse", "api": "openai-chat", "mode": "stream"}
    hello = {"message": {"text": "Hello"}, "stop_reason": "end_turn", "error": None}
    chunks = [{"delta": {"content": "Hel"}}, {"delta": {"content": "lo"}, "finish_reason": "stop"}]
    events = [f"data: {json.dumps({'choices': [choice]})}\n\n" for choice in chunks]
    (few / "hi.sse").write_text("".join(events))
    (few / "index.jsonl").write_text(json.dumps({**row, "expect": hello}))
    ended = workbook("conformance", str(few))
    assert (ended.exit, ended.out.splitlines()[-1]) == (0, "The row played holds.")
    (few / "hi.sse").write_text("".join(events[:1]))
    assert "incomplete_stream" in workbook("conformance", str(few)).out


@pytest.mark.parametrize(
    ("adapter", "shown"), [("anthropic", {"anthropic": 1}), ("deepseek", {"deepseek": 2})]
)
def test_an_adapter_plays_the_rows_of_its_api(
    workbook: Workbook, few: Path, adapter: str, shown: dict[str, int]
) -> None:
    report = json.loads(workbook("conformance", str(few), "--adapter", adapter, "--json").out)
    assert {name: sum(each.values()) for name, each in report["adapters"].items()} == shown


def test_a_mode_plays_the_rows_of_its_kind(workbook: Workbook, few: Path) -> None:
    report = json.loads(workbook("conformance", str(few), "--mode", "dance", "--json").out)
    assert [row["mode"] for row in report["rows"]] == ["dance"]
    ended = workbook("conformance", str(few), "--mode", "schema", "--adapter", "gemini")
    assert ended.exit == 2
    assert "has no rows for gemini and the mode schema." in " ".join(ended.err.split())


def test_the_table_names_the_api_beside_a_record_of_another_name(
    workbook: Workbook, few: Path
) -> None:
    shown = workbook("conformance", str(few), "--adapter", "openai-chat").out.splitlines()
    assert shown[0] == "openai (openai-chat)"
    assert any(line.startswith("openai (openai-chat)  ") for line in shown[1:])
    assert "anthropic" in workbook("conformance", str(few), "--adapter", "anthropic").out
    assert "anthropic (" not in workbook("conformance", str(few)).out


def test_only_what_cannot_be_played_is_no_failure(workbook: Workbook, few: Path) -> None:
    ended = workbook("conformance", str(few), "--adapter", "anthropic")
    assert (ended.exit, ended.out.splitlines()[-1]) == (0, "Nothing was played.")


ROW = {"file": "hello.json", "api": "openai-chat", "mode": "nonstream", "expect": {}}
MALFORMED: list[tuple[str, str]] = [
    ("", "has no rows"),
    ("{", "line 1 is not JSON"),
    ("[]", "line 1 is not a JSON object"),
    (json.dumps({**ROW, "api": 1}), "`api` has to be text"),
    (json.dumps({"file": "hello.json"}), "`api` has to be text"),
    (json.dumps({**ROW, "expect": []}), "`expect` has to be an object"),
    (json.dumps({**ROW, "http": []}), "`http` has to be an object"),
    (json.dumps({**ROW, "file": "no.json"}), "names no.json, which cannot be read"),
    (json.dumps({**ROW, "http": {"end": "never"}}), "`http` is malformed"),
    (json.dumps({**ROW, "http": {"client_retries": "x"}}), "`http` is malformed"),
    (json.dumps({**ROW, "http": {"before": [1]}}), "`http` is malformed"),
    (json.dumps({**ROW, "mode": "schema", "file": "list.json"}), "does not hold a JSON object"),
    (json.dumps({**ROW, "mode": "schema"}), "`in` has to be an object"),
    (json.dumps({**ROW, "mode": "request"}), "`bad` has to be a list or an object"),
    (json.dumps({**ROW, "expect": {"message": 1}}), "`expect.message` has to be an object"),
    (
        json.dumps({**ROW, "expect": {"message": {"tool_calls": [1]}}}),
        "each of `expect.message.tool_calls` has to be an object",
    ),
    (json.dumps({**ROW, "expect": {"error": "x"}}), "`expect.error` has to be an object"),
    (json.dumps({**ROW, "expect": {"echo": {"a": 1}}}), "`expect.echo` has to be a list"),
    (json.dumps({**ROW, "expect": {"events": "x"}}), "`expect.events` has to be a list"),
    (
        json.dumps({**ROW, "expect": {"custom_calls": [1]}}),
        "each of `expect.custom_calls` has to be an object",
    ),
]


@pytest.mark.parametrize(("index", "message"), MALFORMED, ids=[each[1] for each in MALFORMED])
def test_a_malformed_set_is_a_clear_message(
    workbook: Workbook, few: Path, index: str, message: str
) -> None:
    (few / "list.json").write_text("[]")
    (few / "index.jsonl").write_text(index)
    ended = workbook("conformance", str(few))
    assert (ended.exit, ended.out) == (2, "")
    assert message in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "Say what to play"),
        (("nowhere",), "There is no nowhere"),
        (("--live", "here"), "leave out PATH"),
        (("here", "--provider", "openai"), "--provider goes with --live"),
        (
            ("here", "--adapter", "morse"),
            "There is no adapter 'morse'. There are: openai-chat, openai-responses, anthropic, "
            "gemini, openai, gemini-2,",
        ),
        (("--live", "--provider", "opnai"), "Did you mean openai?"),
        (
            ("--live", "--provider", "anthropic"),
            "WORKBOOK_ANTHROPIC_API_KEY and WORKBOOK_ANTHROPIC_MODEL are not set.",
        ),
        (("--live",), "No provider is configured"),
    ],
)
def test_wrong_usage_says_what_to_do(
    workbook: Workbook, words: tuple[str, ...], message: str
) -> None:
    ended = workbook("conformance", *words)
    assert (ended.exit, ended.out) == (2, "")
    assert message in " ".join(ended.err.split())


# A real provider, played by a script.


def good(received: Received) -> Answer:
    """A model that does what it is asked."""
    messages = received.body["messages"]
    asked = messages[0]["content"]
    if messages[-1]["role"] == "tool" or "tools" not in received.body:
        return Answer(completion(text="12 degrees. Grüße 北京 👩‍🚀"))
    cities = [city for city in ("Oslo", "Rome") if city in asked]
    calls = [wire_call(f"c{city}", "get_weather", {"city": city}) for city in cities]
    return Answer(completion(*calls))


def deaf(received: Received) -> Answer:
    """A model that never calls, loses what is not ASCII and takes no long result."""
    if len(json.dumps(received.body)) > 50_000:
        return Answer({"error": {"message": "too long"}}, status=400)
    return Answer(completion(text="Gr??e"))


def live(workbook: Workbook, script: Script, *words: str) -> tuple[int, str, int]:
    with ProviderServer(*[script] * 20) as server:
        workbook.configure(server.base_url)
        ended = workbook("conformance", "--live", *words)
        assert "8 requests" in ended.err
        return ended.exit, ended.out, len(server.requests)


def test_a_good_provider_holds(workbook: Workbook) -> None:
    code, out, requests = live(workbook, good)
    assert (code, requests) == (0, 8)
    assert out.count("holds") == 6
    assert out.endswith("6 of 6 hold.\n")
    assert "50,000 characters were taken" in out


def test_a_bad_provider_does_not_and_each_probe_says_what_was_seen(workbook: Workbook) -> None:
    code, out, _ = live(workbook, deaf, "--json")
    report = json.loads(out)
    outcomes = {each["name"]: each["outcome"] for each in report["probes"]}
    assert (code, report["ok"]) == (1, False)
    assert outcomes == {
        "text without tools": "holds",
        "one call": "does not hold",
        "parallel calls": "does not hold",
        "failed result": "holds",
        "long result": "does not hold",
        "unicode": "does not hold",
    }
    assert "Gr??e" in report["probes"][1]["seen"]


def test_a_probe_that_fails_names_the_field_to_try(workbook: Workbook) -> None:
    def refuses(received: Received) -> Answer:
        if any(message["content"] == "" for message in received.body["messages"]):
            said = "messages[1].content must be null beside tool_calls"
            return Answer({"error": {"message": said}}, status=400)
        if "tools" in received.body:
            return Answer({"error": {"message": "Unknown field: strict"}}, status=422)
        ready = completion(text="ready")
        ready["choices"][0]["finish_reason"] = None
        return Answer(ready)

    _, out, _ = live(workbook, refuses, "--json")
    seen = {each["name"]: each["seen"] for each in json.loads(out)["probes"]}
    assert "WORKBOOK_FINISH_REQUIRED=false" in seen["text without tools"]
    assert "WORKBOOK_STRICT=off" in seen["one call"]
    assert "WORKBOOK_EMPTY_CONTENT=null" in seen["failed result"]


def test_a_provider_that_lets_nobody_in_is_asked_once(workbook: Workbook) -> None:
    code, out, requests = live(workbook, Answer({"error": {"message": "no"}}, status=401))
    assert (code, requests) == (1, 1)
    assert out.count("not tried") == 5


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_is_no_index_and_no_row(workbook: Workbook, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "index.jsonl")
    ended = workbook("conformance", str(tmp_path))
    assert ended.exit == 2
    assert "it is not a file" in " ".join(ended.err.split())

    (tmp_path / "index.jsonl").unlink()
    os.mkfifo(tmp_path / "pipe.json")
    row = {"file": "pipe.json", "api": "gemini", "mode": "nonstream", "expect": {}}
    (tmp_path / "index.jsonl").write_text(json.dumps(row), encoding="utf-8")
    ended = workbook("conformance", str(tmp_path))
    assert ended.exit == 2
    assert "which cannot be read" in " ".join(ended.err.split())
