"""From a call to a result: every failure is data, and a call that fails a check has run nothing."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from chapters import ch01
from chapters.ch01.dispatch import MAX_LEVELS, OneTool, parse_arguments
from shared.errors import ToolError
from shared.messages import ToolCall, ToolResult, ToolSpec
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, run_script
from shared.tools import Effect, Tool, call_handler

pytestmark = pytest.mark.anyio


async def run_one(
    handler: Callable[[Any], Awaitable[Any]], tool_call: ToolCall | None = None
) -> ToolResult:
    """The result of one call to a tool with this handler."""
    tool = Tool(ToolSpec("tool", "A tool.", {"type": "object"}), Effect.READ, dict, handler)
    results: list[ToolResult] = []
    tool_call = tool_call or call("tool", id="c1")
    await OneTool((tool,), call_handler).run([tool_call], results.append, lambda _: None)
    (result,) = results
    return result


async def shell_result(tool_call: ToolCall) -> tuple[ToolResult, FakeCommands, FakeApprover]:
    """The result of one call to chapter 1's agent, and what it did to the world."""
    commands, approver = FakeCommands(), FakeApprover("yes")
    recording = await run_script(
        ch01.plan, [says(tool_call), says("done")], commands=commands, approver=approver
    )
    (result,) = recording.results
    return result, commands, approver


async def test_a_call_that_works_returns_the_handlers_text() -> None:
    result, commands, _ = await shell_result(call("shell", command="ls"))
    assert result == ToolResult("call_1", "shell", "ok\n")
    assert commands.commands == ["ls"]


@pytest.mark.parametrize(
    ("tool_call", "code", "says_why"),
    [
        (call("sheel", command="ls"), "unknown_tool", "The tools are: shell."),
        (ToolCall("", "shell", "{command: ls}"), "invalid_json", "line 1 column 2"),
        (ToolCall("", "shell", '{"command": "ls"'), "invalid_json", "line 1"),
        (ToolCall("", "shell", '{"command": NaN}'), "invalid_json", "NaN is not JSON"),
        (ToolCall("", "shell", '{"command": 1e400}'), "invalid_json", "1e400 is too large"),
        (ToolCall("", "shell", '{"command": -1e400}'), "invalid_json", "-1e400 is too large"),
        (ToolCall("", "shell", '{"command":"ls"}{"command":"rm"}'), "invalid_json", "Extra data"),
        (ToolCall("", "shell", "[" * 100_000), "invalid_json", "nested too deeply"),
        (ToolCall("", "shell", '["ls"]'), "invalid_arguments", "JSON object, got list"),
        (ToolCall("", "shell", '"ls"'), "invalid_arguments", "JSON object, got str"),
        (ToolCall("", "shell", ""), "invalid_arguments", "command: missing"),
        (ToolCall("", "shell", "null"), "invalid_arguments", "command: missing"),
        (call("shell"), "invalid_arguments", "command: missing"),
        (call("shell", command=""), "invalid_arguments", "command: must not be empty"),
        (call("shell", command="  "), "invalid_arguments", "command: must not be empty"),
        (call("shell", command=7), "invalid_arguments", "command: must be a string"),
        (call("shell", command=["ls"]), "invalid_arguments", "command: must be a string"),
        (call("shell", command="a\0b"), "invalid_arguments", "NUL"),
        (call("shell", command="ls", timeout=5), "invalid_arguments", "timeout: unknown field"),
        (call("shell", comand="ls"), "invalid_arguments", "`command`. command: missing."),
    ],
)
async def test_a_call_that_fails_a_check_runs_nothing_and_asks_nobody(
    tool_call: ToolCall, code: str, says_why: str
) -> None:
    result, commands, approver = await shell_result(tool_call)
    assert result.code == code
    assert result.text.startswith(f"Error [{code}]: ")
    assert says_why in result.text
    assert commands.commands == []
    assert approver.questions == []


async def test_one_bad_call_does_not_stop_the_others() -> None:
    commands = FakeCommands()
    recording = await run_script(
        ch01.plan,
        [
            says(
                call("nope", id="a"),
                call("shell", id="b", command="one"),
                ToolCall("c", "shell", "{"),
                call("shell", id="d", command="two"),
            ),
            says("done"),
        ],
        commands=commands,
        approver=FakeApprover("yes"),
    )
    assert commands.commands == ["one", "two"]
    assert [(result.call_id, result.code) for result in recording.results] == [
        ("a", "unknown_tool"),
        ("b", None),
        ("c", "invalid_json"),
        ("d", None),
    ]


async def test_a_tool_that_crashes_does_not_tell_the_model_its_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def crash(arguments: object) -> str:
        raise RuntimeError("connection to db://admin:hunter2@internal failed")

    with caplog.at_level(logging.ERROR):
        result = await run_one(crash)
    assert result.code == "tool_execution_error"
    assert "hunter2" not in result.text
    assert "hunter2" in caplog.text  # the cause goes to the log


@pytest.mark.parametrize("value", [None, 7, b"bytes", ["text"]])
async def test_a_tool_that_returns_no_text_is_an_invalid_result(value: object) -> None:
    async def odd(arguments: object) -> object:
        return value

    assert (await run_one(odd)).code == "invalid_tool_result"


async def test_a_tools_own_failure_keeps_its_code_and_message() -> None:
    async def fail(arguments: object) -> str:
        raise ToolError("out_of_paper", "Add paper and print again.")

    result = await run_one(fail)
    assert result.code == "out_of_paper"
    assert result.text == "Error [out_of_paper]: Add paper and print again."


async def test_exit_and_interrupt_are_not_disguised() -> None:
    async def leave(arguments: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await run_one(leave)


def test_half_a_surrogate_pair_never_reaches_a_tool() -> None:
    assert parse_arguments('{"city": "bad \\ud83d end"}') == {"city": "bad \ufffd end"}
    assert parse_arguments('{"city": "bad \ud83d end"}') == {"city": "bad \ufffd end"}
    assert parse_arguments('{"city": "\\ud83d\\ude00"}') == {"city": "😀"}


def test_of_two_values_for_one_key_everybody_sees_the_last() -> None:
    assert parse_arguments('{"amount": 1, "amount": 1000}') == {"amount": 1000}


def test_a_number_with_five_thousand_digits_is_a_failure_not_a_crash() -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments('{"n": ' + "9" * 5000 + "}")
    assert caught.value.code == "invalid_json"


@pytest.mark.parametrize(
    "text",
    ['"{\\"path\\": \\"a\\"}"', ' "{\\n\\"path\\": \\"a\\"}" ', json.dumps('{"path": "a"}')],
    ids=["encoded twice", "with white space around", "by a library"],
)
def test_an_object_that_was_encoded_twice_is_decoded_twice(text: str) -> None:
    assert parse_arguments(text) == {"path": "a"}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(json.dumps('{"path": "a"}')),
        '"a"',
        '"[1]"',
        '""',
        '"{"',
        json.dumps('{"a": NaN}'),
    ],
    ids=["three times", "text", "a list", "nothing", "half an object", "no JSON inside"],
)
def test_any_other_string_is_no_object(text: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_arguments(text)
    assert caught.value.code == "invalid_arguments"


def nested(levels: int) -> str:
    """An object with that many levels, its own counted."""
    return '{"a": ' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


def from_further_down(frames: int, text: str) -> Any:
    return from_further_down(frames - 1, text) if frames else parse_arguments(text)


@pytest.mark.parametrize("frames", [0, 300])
def test_how_deep_arguments_may_be_does_not_depend_on_who_asks(frames: int) -> None:
    assert from_further_down(frames, nested(MAX_LEVELS))
    with pytest.raises(ToolError, match="nested too deeply"):
        from_further_down(frames, nested(MAX_LEVELS + 1))


def test_many_brackets_beside_each_other_are_not_deep() -> None:
    assert parse_arguments('{"a": [' + ", ".join(["[]"] * 1_000) + "]}")
