"""The text of chapter 5 tells the truth: its stream, its naive rule, its tables, its links."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from chapters.ch01.dispatch import prepare
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Target
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.validation import coercing, json_schema_tool
from labs.faults import FAULTS
from shared.errors import ToolError
from shared.events import ReplyStarted
from shared.messages import Text, ToolCall, ToolSpec
from shared.tools import Effect
from tests.text_checks import dead_links, missing_tests, page_of

PAGE = page_of(5)
TARGET = Target(KNOWN["openai"], "a-model")


def events_of(block: str) -> list[Any]:
    """The JSON of each event of a stream, without the mark of its end."""
    lines = [line.removeprefix("data: ") for line in PAGE.block(block).splitlines() if line]
    assert lines.pop() == "[DONE]"
    return [json.loads(line) for line in lines]


# One reply, piece by piece


def test_the_stream_on_the_page_tells_what_the_page_says() -> None:
    arriving = CHAT_STREAM.accumulator(frozenset({"get_weather"}))
    told: list[Any] = [ReplyStarted()]
    for event in events_of("the stream"):
        assert not arriving.finished
        told += arriving.feed(event)
    assert arriving.finished
    told += arriving.end()
    assert [repr(each) for each in told] == PAGE.block("what is told").splitlines()

    reply = CHAT_STREAM.wire.reply(arriving.answer(), TARGET)
    lines = ["AssistantMessage"]
    for part in reply.content:
        match part:
            case Text():
                lines.append(f"  Text {part.text!r}")
            case ToolCall():
                lines.append(f"  ToolCall {part.id!r} {part.name} {part.arguments}")
    lines.append(f"  stop: {reply.stop.value}")
    assert lines == PAGE.block("what the loop gets").splitlines()


def test_the_naive_rule_runs_what_the_page_says_it_runs() -> None:
    [code] = [b for b in re.findall(r"```python\n(.*?)```", PAGE.text, re.DOTALL) if "run(" in b]
    ran: list[Any] = []
    scope: dict[str, Any] = {"arguments": "", "json": json, "run": ran.append}
    for delta in ('{"amount"', ": 12", "}"):  # the server closes the bracket at its limit
        exec(code, scope | {"delta": delta}, scope)
    assert ran == [{"amount": 12}]


# Arguments


@pytest.mark.parametrize("number", range(6))
def test_each_row_of_the_table_of_conversions_holds(number: int) -> None:
    row = PAGE.rows("Arguments nobody should trust")[number]
    kinds = {"number": "number", "integer": "integer", "text": "string", "truth value": "boolean"}
    if row[0] not in kinds:
        return
    schema = {"type": "object", "properties": {"v": {"type": kinds[row[0]]}}, "required": ["v"]}

    async def handler(arguments: dict[str, Any]) -> str:
        return ""

    tool = coercing(json_schema_tool(ToolSpec("t", "d", schema), Effect.READ, handler))
    for literal in re.findall(r"`([^`]+)`", row[1]):
        prepare(tool, ToolCall("c", "t", f'{{"v": {literal}}}'))
    for literal in re.findall(r"`([^`]+)`", row[2]):
        with pytest.raises(ToolError):
            prepare(tool, ToolCall("c", "t", f'{{"v": {literal}}}'))


def test_the_explanation_on_the_page_is_what_the_model_reads() -> None:
    schema = {
        "type": "object",
        "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["query"],
    }

    async def handler(arguments: dict[str, Any]) -> str:
        return ""

    tool = json_schema_tool(ToolSpec("search", "d", schema), Effect.READ, handler)
    with pytest.raises(ToolError) as refused:
        prepare(tool, ToolCall("c", "search", '{"limit": "ten"}'))
    shown = f"Error [{refused.value.code}]: {refused.value.message}\n"
    assert shown == PAGE.block("the explanation")


# What the page points to


def test_every_fault_is_on_the_page() -> None:
    named = [re.sub("`", "", row[0]) for row in PAGE.rows("Run it yourself")]
    assert sorted(named) == sorted(FAULTS)


def test_the_exercises_on_the_page_are_those_there_are() -> None:
    named = re.findall(r"^- \[`05/(\w+)`\]", PAGE.section("Exercises"), re.MULTILINE)
    folders = [path.parent.name for path in PAGE.path.parent.glob("exercises/*/solution.py")]
    assert sorted(named) == sorted(folders)


def test_every_test_that_the_page_names_exists() -> None:
    assert missing_tests(PAGE) == []


def test_every_link_of_the_page_leads_somewhere() -> None:
    assert dead_links(PAGE) == []
