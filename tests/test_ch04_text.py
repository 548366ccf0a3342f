"""The text of chapter 4 tells the truth: its messages, its wires, its settings, its links."""

from __future__ import annotations

import ast
import json
import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.adapters import wire_of
from chapters.ch04.downloads import list_download_files
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.names_and_ids import CallIds
from chapters.ch04.one_round import answer_with_one_tool_round
from chapters.ch04.provider import PLAIN_ID, Provider, Target
from chapters.ch04.wire import to_body
from labs.provider import configured
from shared.messages import Message, Request, ToolResult, UserMessage
from shared.scripted import ScriptedModel, call, last_result, says
from tests.text_checks import ROOT, dead_links, missing_tests, page_of

PAGE = page_of(4)
QUESTION = "Which PDFs are in my downloads folder?"
LATER = "Which PDFs are there? Look for pictures only after that."
FILES = {"invoice.PDF": "1", "ticket.pdf": "2", "photo.jpg": "3"}


def lines_of(block: str) -> list[Any]:
    """The JSON values of a block, one a line."""
    return [json.loads(line) for line in PAGE.block(block).splitlines()]


def on_the_wire(provider: str, *messages: Message) -> list[Any]:
    """Messages as a provider of the table receives them."""
    target = Target(KNOWN[provider], "a-model")
    wire = wire_of(target.provider.api)
    items: list[Any] = to_body(wire, Request(messages), target)[wire.key]
    return items


# One round by hand


@pytest.mark.anyio
async def test_the_round_on_the_page_is_what_happens() -> None:
    def answer(request: Request) -> Any:
        names = last_result(request).text.splitlines()
        return says(f"There are {['none', 'one', 'two'][len(names)]}: {' and '.join(names)}.")

    model = ScriptedModel([says(call("list_download_files", extension=".pdf")), answer])
    tools = [list_download_files(MemoryFiles(FILES))]
    outcome = await answer_with_one_tool_round(model, tools, QUESTION)
    assert on_the_wire("openai", *outcome.messages) == lines_of("the four messages")
    assert not outcome.asks_again


@pytest.mark.anyio
async def test_the_steps_on_the_page_can_be_typed() -> None:
    typed: dict[str, Any] = {}
    for block in ("by hand", "five steps"):
        code = compile(PAGE.block(block), block, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        if (waiting := eval(code, typed)) is not None:
            await waiting
    assert typed["reply"].calls
    assert typed["results"][0].text == "invoice.PDF\nticket.pdf"
    assert on_the_wire("openai", *typed["history"]) == lines_of("the four messages")


@pytest.mark.anyio
async def test_the_second_request_for_tools_is_the_one_on_the_page() -> None:
    replies = [
        says(call("list_download_files", extension=".pdf")),
        says("And the pictures:", call("list_download_files", extension=".jpg")),
    ]
    tools = [list_download_files(MemoryFiles(FILES))]
    outcome = await answer_with_one_tool_round(ScriptedModel(replies), tools, LATER)
    assert f"*{LATER}*" in PAGE.text
    assert outcome.asks_again
    [wire] = on_the_wire("openai", UserMessage("q"), outcome.reply)[1:2]
    assert [wire] == lines_of("the second request for tools")


# Four wires


@pytest.mark.parametrize(
    ("block", "provider"),
    [
        ("openai-chat", "openai"),
        ("openai-responses", "openai-responses"),
        ("anthropic", "anthropic"),
        ("gemini", "gemini"),
    ],
)
def test_the_same_conversation_as_each_api_wants_it(block: str, provider: str) -> None:
    target = Target(KNOWN[provider], "a-model")
    asks = says("I will look.", call("list_download_files", id="call_1", extension=".pdf"))
    found = ToolResult("call_1", "list_download_files", "ticket.pdf")
    reply = replace(asks, origin=target.origin)
    said = on_the_wire(provider, UserMessage(QUESTION), reply, found)[1:]
    without_marks = json.loads(json.dumps(said))
    for item in without_marks:
        for part in item.get("content", ()) if isinstance(item.get("content"), list) else ():
            part.pop("cache_control", None)
    assert without_marks == lines_of(block)


def test_two_ids_become_one_where_only_what_is_illegal_is_replaced() -> None:
    [line] = re.findall(r"^call_id = (.+)$", PAGE.text, re.MULTILINE)
    naive = [eval(line, {"re": re}, {"call_id": each}) for each in ("a.b", "a:b")]
    assert naive == ["a_b", "a_b"]
    ids = CallIds(PLAIN_ID)
    assert len({ids.assign("a.b"), ids.assign("a:b")}) == 2


# Settings


def test_the_settings_on_the_page_make_that_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.text, re.DOTALL)
    [text] = [block for block in blocks if "WORKBOOK_EMPTY_CONTENT" in block]
    for name in [name for name in os.environ if name.startswith("WORKBOOK_")]:
        monkeypatch.delenv(name)
    more = "WORKBOOK_API_KEY=a-key\nWORKBOOK_MODEL=a-model\n"
    (tmp_path / ".env").write_text(text + more, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = configured()
    overrides: dict[str, Any] = dict(settings.overrides)
    record = replace(KNOWN[settings.provider], **overrides)
    assert record.empty_content is None
    assert record.token_limit_key == "max_completion_tokens"
    assert record.max_tokens == 4096


def test_every_variable_on_the_page_is_a_setting() -> None:
    known = {field.name.upper() for field in fields(Provider)}
    known |= {"PROVIDER", "BASE_URL", "API_KEY", "MODEL"}
    named = {name for name in re.findall(r"WORKBOOK_([A-Z_]+)", PAGE.text) if name}
    own = {f"{name.upper().replace('-', '_')}_{key}" for name in KNOWN for key in known}
    assert named <= known | own


# Links


def test_every_test_that_the_page_names_exists() -> None:
    assert missing_tests(PAGE) == []


def test_every_link_of_the_page_leads_somewhere() -> None:
    assert dead_links(PAGE) == []


def test_the_exercises_on_the_page_are_those_there_are() -> None:
    named = re.findall(r"^- \[`04/(\w+)`\]", PAGE.section("Exercises"), re.MULTILINE)
    folders = [path.parent.name for path in PAGE.path.parent.glob("exercises/*/solution.py")]
    assert sorted(named) == sorted(folders)


def test_the_figures_on_the_page_come_from_the_benchmark() -> None:
    names = (ROOT / "labs/bench_client.py").read_text(encoding="utf-8")
    for words in ("OpenAI's client, 800 over 50", "Anthropic's client, 800", "typed create()"):
        assert words in names
