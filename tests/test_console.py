"""The console: what a reader sees of a run, and that nothing foreign can act on the terminal."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from dataclasses import replace

import pytest

from chapters import ch02
from shared.console import Console
from shared.events import MessageAdded, RunEnded, ToolFinished, ToolStarted
from shared.messages import (
    AssistantMessage,
    Image,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
)
from shared.ports import CommandOutcome
from shared.scripted import Reply, ScriptedModel, call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit

pytestmark = pytest.mark.anyio

HOSTILE = "\x1b[2J\x1b]0;owned\x07\u202egnp.exe\r"


async def transcript(
    *replies: Reply,
    prompt: str = "go",
    output: str = "ok\n",
    exit_code: int = 0,
    outcome: bool = True,
    max_turns: int = 20,
) -> str:
    """What the console writes while chapter 2's agent runs this script."""
    out = io.StringIO()
    kit = fake_kit(
        ScriptedModel(replies),
        commands=FakeCommands(CommandOutcome(output, exit_code)),
        approver=FakeApprover(),
    )
    console = Console(out, outcome=outcome, environ={})
    conversation = ch02.plan(kit).with_listeners(console).build(kit)
    try:
        await conversation.ask(prompt, max_turns=max_turns)
    except Exception as error:
        out.write(f"raised {type(error).__name__}\n")
    return out.getvalue()


def labels(text: str) -> list[str]:
    """The words in the left margin, in order."""
    return [line.split()[0] for line in text.splitlines() if line[:1].isalpha()]


async def test_a_run_reads_from_top_to_bottom() -> None:
    text = await transcript(
        says("I look.", call("shell", command="ls")), says("Done."), prompt="what is there?"
    )
    assert text.splitlines() == [
        "user    what is there?",
        "── turn 1 ".ljust(80, "─"),
        "model   I look.",
        'call    shell {"command": "ls"}',
        "result  ok",
        "── turn 2 ".ljust(80, "─"),
        "model   Done.",
        "── 2 turns ".ljust(80, "─"),
    ]


async def test_each_call_is_followed_by_its_own_result() -> None:
    text = await transcript(
        says(call("shell", command="a"), call("nope"), call("shell", command="b")), says("Done.")
    )
    assert labels(text) == ["user", "call", "result", "call", "failed", "call", "result", "model"]


async def test_a_failure_is_told_from_a_result() -> None:
    text = await transcript(says(call("shell", command="x")), says("Hm."), exit_code=3)
    assert "failed  Error [shell_failed]: The command exited with code 3." in text
    assert "result" not in text


async def test_a_call_that_never_ran_is_shown_with_its_reason() -> None:
    cut_off = says(call("shell", command="rm"), stop=StopReason.MAX_TOKENS)
    text = await transcript(cut_off, says("Done."))
    assert labels(text) == ["user", "call", "failed", "model"]
    assert "reply_cut_off" in text


async def test_of_a_long_result_the_beginning_is_shown_and_the_rest_is_counted() -> None:
    output = "".join(f"line {number}\n" for number in range(1000))
    text = await transcript(says(call("shell", command="x")), says("Done."), output=output)
    assert "line 11\n" in text
    assert "line 12" not in text
    assert "[and 988 more lines that are not shown here]" in text


async def test_of_a_long_line_the_beginning_is_shown_and_the_rest_is_counted() -> None:
    text = await transcript(says(call("shell", command="x")), says("Done."), output="y" * 9000)
    assert "(+7,800 characters)" in text
    assert "[of 9,000 characters in all]" in text
    assert len(text) < 3000


async def test_long_arguments_are_shortened() -> None:
    text = await transcript(says(call("shell", command="z" * 5000)), says("Done."))
    assert "characters)" in text
    assert len(text) < 2000


async def test_nothing_foreign_acts_on_the_terminal() -> None:
    text = await transcript(
        says(f"I {HOSTILE}", call("shell", command=HOSTILE), call(HOSTILE, key=HOSTILE)),
        says(HOSTILE),
        prompt=HOSTILE,
        output=HOSTILE,
    )
    assert not set(text) & set("\x1b\x07\r\u202e")
    assert "\\x1b[2J" in text
    assert "\\u202e" in text


async def test_no_line_is_wider_than_the_screen() -> None:
    text = await transcript(
        says("word " * 60, call("shell", command="x" * 300)), says("你好" * 60), output="w" * 300
    )
    for line in text.splitlines():
        assert len(line.replace("─", "-").encode("gbk")) <= 80, line


async def test_a_program_can_show_answer_and_error_itself() -> None:
    text = await transcript(
        says("I look.", call("shell", command="ls")), says("Done."), outcome=False
    )
    assert "I look." in text
    assert "Done." not in text


async def test_how_a_run_failed_is_said() -> None:
    text = await transcript(says(call("shell", command="a")), max_turns=1)
    assert "stopped Stopped after 1 request without a final answer." in text


async def test_an_unexpected_error_is_named_without_its_text() -> None:
    out = io.StringIO()
    Console(out, environ={})(RunEnded(None, ValueError("/home/me/secret")))
    assert out.getvalue() == "stopped ValueError\n"


async def test_what_the_run_cost_is_added_up() -> None:
    spent = [replace(says("x", call("shell", command="a")), usage=Usage(1000, 20))]
    text = await transcript(*spent, replace(says("Done."), usage=Usage(234, 3)))
    assert "── 2 turns, 1,234 tokens sent, 23 received ─" in text


async def test_what_came_from_a_cache_is_counted_beside_it() -> None:
    spent = replace(says("x", call("shell", command="a")), usage=Usage(1000, 20, 0))
    text = await transcript(spent, replace(says("Done."), usage=Usage(1234, 3, 900)))
    assert "── 2 turns, 2,234 tokens sent (900 cached), 23 received ─" in text


def test_a_picture_is_one_line_with_its_type_and_size() -> None:
    out = io.StringIO()
    console = Console(out, environ={})
    photo = Image("image/png", base64.b64encode(b"x" * 12_000).decode())
    console(MessageAdded(UserMessage((Text("What is this?"), photo))))
    found = ToolResult("c", "look", "", images=(Image("image/\x1bgif", "eHg="),))
    console(ToolFinished(ToolCall("c", "look", "{}"), found))
    assert out.getvalue() == (
        "user    What is this?\n        [picture image/png, 12 KB]\n"
        "result  (of look, c)\n        [picture image/\\x1bgif, 2 bytes]\n"
    )


def events_of_two_calls_side_by_side() -> Iterable[object]:
    """What a dispatcher that runs calls in parallel would tell."""
    first, second = ToolCall("a", "shell", "{}"), ToolCall("b", "glob", "{}")
    yield MessageAdded(AssistantMessage((first, second), StopReason.TOOL_USE))
    yield ToolStarted(first)
    yield ToolStarted(second)
    for each in (second, first):
        yield ToolFinished(each, ToolResult(each.id, each.name, f"done {each.id}"))


async def test_a_result_that_comes_late_names_its_call() -> None:
    out = io.StringIO()
    console = Console(out, environ={})
    for event in events_of_two_calls_side_by_side():
        console(event)  # type: ignore[arg-type]
    assert out.getvalue().splitlines()[2:] == [
        "result  done b",
        "result  (of shell, a)",
        "        done a",
    ]


async def test_an_event_it_does_not_know_is_left_to_others() -> None:
    out = io.StringIO()
    Console(out, environ={})(object())  # type: ignore[arg-type]
    assert out.getvalue() == ""


async def test_a_stream_that_knows_only_ascii_is_enough() -> None:
    raw = io.BytesIO()
    console = Console(io.TextIOWrapper(raw, encoding="ascii"), environ={})
    console(MessageAdded(UserMessage("你好 \ud800")))
    assert raw.getvalue() == b"user    \\u4f60\\u597d \\ud800\n"


def test_the_name_of_a_tool_stays_in_its_line_and_has_an_end() -> None:
    out = io.StringIO()
    console = Console(out, environ={})
    console(ToolStarted(ToolCall("c1", "a\nb\tc\x1b[2J", "{}")))
    console(ToolStarted(ToolCall("c2", "x" * 500, "{}")))
    lines = out.getvalue().splitlines()
    assert lines[0] == r"call    a\nb\tc\x1b[2J {}"
    assert out.getvalue().count("x") < 120
    console(ToolFinished(ToolCall("c1", "", ""), ToolResult("c1", "a\nb", "ok")))
    assert out.getvalue().endswith("result  (of a\\nb, c1)\n        ok\n")
