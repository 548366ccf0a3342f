"""The text of chapter 1 tells the truth: its messages, its smallest loop, its links to tests."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from chapters import ch01
from chapters.ch01.chat_wire import STOP_REASONS
from chapters.ch01.openai_chat import OpenAIChat
from shared.ports import CommandOutcome
from shared.provider_server import Answer, ProviderServer
from shared.testing import FakeApprover, FakeCommands, fake_kit
from tests.text_checks import ROOT, dead_links, missing_tests, page_of

PAGE = page_of(1)


# The four messages.


@pytest.mark.anyio
async def test_the_requests_on_the_page_are_what_the_adapter_sends() -> None:
    commands = FakeCommands(CommandOutcome("harbor-4711\n", 0))
    replies = [Answer(json.loads(PAGE.block(name))) for name in ("reply 1", "reply 2")]
    with ProviderServer(*replies) as server:
        async with OpenAIChat(
            base_url=server.base_url, api_key="some-key", model="your-model"
        ) as model:
            kit = fake_kit(model, commands=commands, approver=FakeApprover("yes"))
            first = json.loads(PAGE.block("request 1"))
            answer = await ch01.plan(kit).build(kit).ask(first["messages"][0]["content"])
    assert answer.text == json.loads(PAGE.block("reply 2"))["choices"][0]["message"]["content"]
    assert commands.commands == ["cat code.txt"]
    second = json.loads(PAGE.block("request 2"))
    assert second["tools"] == ["as in the first request"]
    assert [request.body for request in server.requests] == [
        first,
        second | {"tools": first["tools"]},
    ]
    assert {request.path for request in server.requests} == {"/v1/chat/completions"}
    assert server.requests[0].headers["authorization"] == "Bearer some-key"


def test_the_finish_reason_table_names_every_word_the_adapter_knows() -> None:
    named = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `(\w+)` \|", PAGE.text, re.MULTILINE)
    table = {word: stop for words, stop in named for word in re.findall(r"`(\w+)`", words)}
    assert table == {word: stop.value for word, stop in STOP_REASONS.items()}


# The smallest loop.

Agent = Callable[[Callable[[list[dict[str, Any]]], dict[str, Any]], str], Any]


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """The function on the page, in a folder with the file it reads."""
    if sys.platform == "win32":
        pytest.skip("the commands of these tests are those of a POSIX shell")
    monkeypatch.chdir(tmp_path)
    Path("code.txt").write_text("harbor-4711\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(PAGE.block("the smallest loop"), names)
    loop: Agent = names["agent"]
    return loop


def call(arguments: str, name: str = "shell") -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def shell(command: str) -> dict[str, Any]:
    return call(json.dumps({"command": command}))


class Script:
    """A model that replies what is written down, and keeps what it was told."""

    def __init__(self, *replies: dict[str, Any]) -> None:
        self.replies: Sequence[dict[str, Any]] = replies
        self.asked = 0
        self.messages: list[dict[str, Any]] = []

    def __call__(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        self.asked, self.messages = self.asked + 1, messages
        if self.asked > len(self.replies):
            return {"role": "assistant", "content": "done"}
        return self.replies[self.asked - 1]


def test_the_smallest_loop_works(capsys: pytest.CaptureFixture[str], agent: Agent) -> None:
    assert capsys.readouterr().out == "It says harbor-4711\n\n"
    model = Script(shell("cat code.txt"))
    assert agent(model, "go") == "done"
    assert model.messages[-2]["content"] == "harbor-4711\n"


def names_of(agent: Agent) -> dict[str, Any]:
    """What the function on the page finds under the names it uses."""
    names: dict[str, Any] = getattr(agent, "__globals__")  # noqa: B009 (a Callable has none)
    return names


class Enough(Exception):
    """So many requests that it is clear: there is no end."""


def never_stops(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = 0

    def stuck(messages: list[dict[str, Any]]) -> dict[str, Any]:
        nonlocal asked
        asked += 1
        if asked > 1000:
            raise Enough
        return shell("true")

    nothing = subprocess.CompletedProcess("", 0, "")
    monkeypatch.setitem(names_of(agent), "run", lambda *_, **__: nothing)
    with pytest.raises(Enough):
        agent(stuck, "go")


def neither_text_nor_call(agent: Agent, _: pytest.MonkeyPatch) -> None:
    assert agent(Script({"role": "assistant", "content": None}), "go") is None


def cut_at_the_limit(agent: Agent, _: pytest.MonkeyPatch) -> None:
    Path("build/old").mkdir(parents=True)
    agent(Script(shell("rm -r build")), "remove build/old")
    assert not Path("build").exists()


def broken_json(agent: Agent, _: pytest.MonkeyPatch) -> None:
    model = Script(call('{"command": "ls"'))
    with pytest.raises(json.JSONDecodeError):
        agent(model, "go")
    assert "tool_calls" in model.messages[-1]  # and nothing answers it


def unknown_tool(agent: Agent, _: pytest.MonkeyPatch) -> None:
    agent(Script(call('{"command": "touch ran"}', name="delete_everything")), "go")
    assert Path("ran").exists()


def silent_failure(agent: Agent, _: pytest.MonkeyPatch) -> None:
    model = Script(shell("cat no-such-file"))
    agent(model, "go")
    assert model.messages[-2]["content"] == ""


def byte_that_is_no_text(agent: Agent, _: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnicodeDecodeError):
        agent(Script(shell(r"printf '\377'")), "go")


def no_end(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def record(command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        seen.update(options)
        return subprocess.CompletedProcess(command, 0, "")

    monkeypatch.setitem(names_of(agent), "run", record)
    agent(Script(shell("sleep 100000")), "go")
    assert "timeout" not in seen


def nobody_is_asked(agent: Agent, _: pytest.MonkeyPatch) -> None:
    agent(Script(shell("rm code.txt")), "go")
    assert not Path("code.txt").exists()


def the_key_is_printed(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "WORKBOOK_API_KEY", "a-secret")
    model = Script(shell("printenv WORKBOOK_API_KEY"))
    agent(model, "go")
    assert model.messages[-2]["content"] == "a-secret\n"


BREAKS = [
    never_stops,
    neither_text_nor_call,
    cut_at_the_limit,
    broken_json,
    unknown_tool,
    silent_failure,
    byte_that_is_no_text,
    no_end,
    nobody_is_asked,
    the_key_is_printed,
]


@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: breaks.__name__)
def test_an_input_that_breaks_the_smallest_loop(
    breaks: Callable[[Agent, pytest.MonkeyPatch], None],
    agent: Agent,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    breaks(agent, monkeypatch)


def test_every_row_of_the_table_of_breaks_has_its_test() -> None:
    numbers = re.findall(r"^\| (\d+) \|", PAGE.text, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(BREAKS) + 1)]


# What the page quotes and points to.


def test_the_three_ways_to_break_a_history_are_quoted_as_they_are() -> None:
    source = (ROOT / "shared" / "history.py").read_text(encoding="utf-8")
    quoted = [row[2].strip("`") for row in PAGE.rows("A history that cannot break")]
    assert len(quoted) == 3
    for message in quoted:
        pattern = re.sub(r"'\w+'", "'ID'", message)
        assert pattern in re.sub(r"\{[^}]*!r\}", "'ID'", source)


def test_every_symptom_of_the_table_is_what_the_program_says() -> None:
    not_ours = {"externally-managed-environment", "workbook: command not found"}
    section = PAGE.section("When it goes wrong")
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    symptoms = {cell.split("`")[1] for cell in cells} - not_ours
    sources = [path.read_text(encoding="utf-8") for path in ROOT.glob("[cls]*/**/*.py")]
    said = "\n".join(re.sub(r'"\s+f?"', "", source) for source in sources)
    assert len(symptoms) > 8
    assert sorted(symptom for symptom in symptoms if symptom not in said) == []


def test_every_test_the_page_names_exists() -> None:
    assert missing_tests(PAGE) == []


def test_every_relative_link_leads_somewhere() -> None:
    assert dead_links(PAGE) == []
