"""What `SameCallAgain` promises: the same call with the same result ends, everything else runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import randint, shuffle
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest

from chapters import ch05
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.registry import Arguments, define_tool
from chapters.ch05.validation import json_schema_tool
from shared.errors import ToolError
from shared.messages import Image, ToolCall, ToolResult, ToolSpec
from shared.ports import CommandOutcome
from shared.scripted import ScriptedModel, call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit
from shared.tools import Effect, Output, PreparedCall, Returned, Tool, call_handler

pytestmark = pytest.mark.anyio

NOBODY = "chapters/ch05/README.md#arguments-nobody-should-trust"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"
ONE = "chapters/ch03/README.md#one-approval-one-call"

Came = str | Output | Exception


@dataclass
class Trial:
    """The layer around tools that do as they are told: `seen` are the names of what ran."""

    target: ModuleType
    most: int = 2
    came: list[Came | BaseException] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.again = self.target.SameCallAgain(self.most)
        self._invoke = self.again.layer().wrap(self._run)

    async def _run(self, prepared: PreparedCall) -> Returned:
        self.seen.append(prepared.call.name)
        came = self.came.pop(0) if self.came else "the same"
        if isinstance(came, BaseException):
            raise came
        return came

    async def ask(self, asked: ToolCall | str) -> str:
        """`ran`, `refused`, or `failed`."""
        asked = call(asked, path="a.txt") if isinstance(asked, str) else asked
        before = len(self.seen)
        try:
            await self._invoke(PreparedCall(some_tool(asked.name), asked, None))
        except ToolError as error:
            if error.code == self.target.CODE:
                assert len(self.seen) == before, "it was run, and then refused"
                return "refused"
            return "failed"
        except RuntimeError:
            return "failed"
        return "ran"

    async def all(self, *asked: ToolCall | str) -> list[str]:
        return [await self.ask(each) for each in asked]


def some_tool(name: str) -> Tool:
    async def handler(_: Any) -> str:
        raise AssertionError("the trial has its own")

    return define_tool(name, "Does nothing.", Effect.READ, Arguments, handler)


@pytest.mark.contract("A call that brought the same result N times is not run again.", read=NOBODY)
@pytest.mark.parametrize("most", [1, 2, 3, 5])
async def test_n_times(target: ModuleType, most: int) -> None:
    trial = Trial(target, most)
    outcomes = await trial.all(*["read"] * (most + 3))
    assert outcomes == ["ran"] * most + ["refused"] * 3, "and what was refused stays refused"
    assert len(trial.seen) == most


SPELLINGS = [
    ("key order", '{"a": 1, "b": 2}', '{"b": 2, "a": 1}', True),
    ("key order, deeper", '{"a": [{"b": 1, "c": 2}]}', '{"a": [{"c": 2, "b": 1}]}', True),
    ("white space", '{"a": [1, 2]}', '{\n"a":[1,2]  }', True),
    ("white space in a text", '{"a": "x"}', '{"a": "x "}', False),
    ("escapes", '{"a": "\\u00e9/"}', '{"a": "é\\/"}', True),
    ("no arguments", "", "{}", True),
    ("1 and 1.0", '{"a": 1}', '{"a": 1.0}', True),
    ("1 and 1e0, in a list", '{"a": [1]}', '{"a": [1e0]}', True),
    ("1 and 1.5", '{"a": 1}', '{"a": 1.5}', False),
    ("1 and true", '{"a": 1}', '{"a": true}', False),
    ("0 and false, in a list", '{"a": [0]}', '{"a": [false]}', False),
    ('1 and "1"', '{"a": 1}', '{"a": "1"}', False),
    ("null and nothing", '{"a": null}', "{}", False),
    ("order in a list", '{"a": [1, 2]}', '{"a": [2, 1]}', False),
    ("upper case", '{"a": "x"}', '{"a": "X"}', False),
    ("large numbers", '{"a": 9007199254740993}', '{"a": 9007199254740992}', False),
]


@pytest.mark.contract("Arguments are the same if they are equal as JSON.", read=NOBODY)
@pytest.mark.parametrize(
    ("one", "other", "same"), [row[1:] for row in SPELLINGS], ids=[row[0] for row in SPELLINGS]
)
async def test_equal_arguments(target: ModuleType, one: str, other: str, same: bool) -> None:
    for first, second in ((one, other), (other, one)):
        trial = Trial(target, 1)
        calls = [ToolCall(token_hex(4), "search", arguments) for arguments in (first, second)]
        expected = "refused" if same else "ran"
        assert await trial.all(*calls) == ["ran", expected], f"{first}  {second}"


@pytest.mark.contract("Whatever the arguments are, their spelling does not count.", read=NOBODY)
async def test_random_arguments(target: ModuleType) -> None:
    pairs = [(f"key-{n}", [randint(0, 9), {token_hex(2): token_hex(2)}]) for n in range(5)]
    calls = []
    for indent in (None, 0, 2):
        shuffle(pairs)
        calls.append(ToolCall(token_hex(4), "search", json.dumps(dict(pairs), indent=indent)))
    assert await Trial(target).all(*calls) == ["ran", "ran", "refused"]
    other = ToolCall("d", "look", calls[2].arguments)
    assert await Trial(target, 1).all(calls[0], other) == ["ran", "ran"], "it is another tool"


@pytest.mark.contract("A result that has changed begins the count anew.", read=NOBODY)
async def test_another_result(target: ModuleType) -> None:
    first, second = token_hex(4), token_hex(4)
    trial = Trial(target, came=[first, second, first, first])
    assert await trial.all(*["poll"] * 5) == ["ran"] * 4 + ["refused"]
    image = Image("image/png", "QQ==")
    trial = Trial(target, came=["x", Output("x", (image,)), Output("x"), "x"])
    assert await trial.all(*["poll"] * 5) == ["ran"] * 4 + ["refused"], (
        "pictures belong to a result, and Output('x') is 'x'"
    )


@pytest.mark.contract("Another call in between begins the count anew.", read=NOBODY)
async def test_another_call(target: ModuleType) -> None:
    trial = Trial(target)
    assert await trial.all("read", "read", "edit", "read", "read", "read") == [
        *["ran"] * 5,
        "refused",
    ]
    assert await trial.all("edit", "read") == ["ran", "ran"], "what was refused may run again"
    assert await Trial(target, 1).all("a", "b", "a", "b") == ["ran"] * 4


@pytest.mark.contract("A failure is a result: the same one again is the same.", read=NOBODY)
async def test_failures(target: ModuleType) -> None:
    gone = [ToolError("file_not_found", "There is no a.txt.") for _ in range(2)]
    trial = Trial(target, came=[*gone])
    assert await trial.all(*["read"] * 3) == ["failed", "failed", "refused"]
    trial = Trial(target, came=[RuntimeError("1"), RuntimeError("2")])
    assert await trial.all(*["read"] * 3) == ["failed", "failed", "refused"], (
        "the model reads the same of every crash"
    )
    other = ToolError("file_not_found", "There is no b.txt.")
    trial = Trial(target, came=[gone[0], other, ToolError("timeout", other.message)])
    assert await trial.all(*["read"] * 4) == ["failed"] * 3 + ["ran"]
    trial = Trial(target, came=[ToolError("a", "b"), "a", "b"])
    assert await trial.all(*["read"] * 3) == ["failed", "ran", "ran"]


@pytest.mark.contract("A call that was cancelled has no result.", read=PLACES)
async def test_cancelled(target: ModuleType) -> None:
    trial = Trial(target, 1, came=[asyncio.CancelledError()])
    with pytest.raises(asyncio.CancelledError):
        await trial.ask("read")
    assert await trial.all("read", "read") == ["ran", "refused"]


@pytest.mark.contract("The effect of a tool does not matter: a command is stopped too.", read=ONE)
async def test_effects(target: ModuleType) -> None:
    commands = FakeCommands(CommandOutcome("1 failed\n", 1))
    test, approver = call("shell", command="pytest"), FakeApprover("yes")
    model = ScriptedModel([*(says(test) for _ in range(4)), says("I am stuck.")])
    kit = fake_kit(model, commands=commands, approver=approver)
    conversation = target.plan(kit).build(kit)
    reply = await conversation.ask("Make it green.")
    assert reply.text == "I am stuck."
    assert commands.commands == ["pytest"] * 2
    assert len(approver.questions) == 2, "nobody is asked about a call that will not run"
    results = [each for each in conversation.history if isinstance(each, ToolResult)]
    assert [each.code for each in results[2:]] == [target.CODE] * 2
    assert "2 times" in results[2].text


@pytest.mark.contract("A denied call is no other: whoever said no is not asked for ever.", read=ONE)
async def test_denied(target: ModuleType) -> None:
    approver = FakeApprover("no")
    write = call("write_file", path="a.txt", content="x")
    kit = fake_kit(
        ScriptedModel([*(says(write) for _ in range(5)), says("Then not.")]),
        files=MemoryFiles(),
        approver=approver,
    )
    await target.plan(kit).build(kit).ask("go")
    assert len(approver.questions) == 2


@pytest.mark.contract("Calls of one reply count as those of several.", read=NOBODY)
async def test_in_one_reply(target: ModuleType) -> None:
    files = MemoryFiles({"a.txt": "1"})
    read = [call("read_file", path="a.txt") for _ in range(3)]
    kit = fake_kit(ScriptedModel([says(*read), says("done")]), files=files)
    conversation = target.plan(kit).build(kit)
    await conversation.ask("go")
    results = [each for each in conversation.history if isinstance(each, ToolResult)]
    assert [each.code for each in results] == [None, None, target.CODE]


@pytest.mark.contract("Each run begins anew, and two agents share nothing.", read=PLACES)
async def test_runs(target: ModuleType) -> None:
    files = MemoryFiles({"a.txt": "1"})
    read = call("read_file", path="a.txt")
    script: Sequence[Any] = [says(read), says(read), says("done")] * 2
    kit = fake_kit(ScriptedModel(script), files=files)
    conversation = target.plan(kit).build(kit)
    for _ in range(2):
        await conversation.ask("go")
        other = fake_kit(ScriptedModel([says(read), says("done")]), files=files)
        another = target.plan(other).build(other)
        await another.ask("go")
        assert another.history[2].code is None
    results = [each for each in conversation.history if isinstance(each, ToolResult)]
    assert [each.code for each in results] == [None] * 4


@pytest.mark.contract("What is let through is not changed, and the plan is chapter 5's.")
async def test_nothing_is_changed(target: ModuleType) -> None:
    output = Output("x", (Image("image/png", "QQ=="),))
    got: list[Any] = []

    async def handler(arguments: dict[str, Any]) -> Returned:
        got.append(arguments)
        return output

    spec = ToolSpec("look", "Look", {"type": "object"})
    tool = json_schema_tool(spec, Effect.READ, handler)
    arguments: dict[str, Any] = {"b": 1.0, "a": [1]}
    prepared = PreparedCall(tool, call("look", **arguments), arguments)
    assert await target.SameCallAgain().layer().wrap(call_handler)(prepared) is output
    assert got[0] is arguments
    before, after = ch05.plan(fake_kit()), target.plan(fake_kit())
    names = [layer.name for layer in after.tool_layers]
    assert names == [*(layer.name for layer in before.tool_layers), target.NAME]
    assert len(after.listeners) == len(before.listeners) + 1
