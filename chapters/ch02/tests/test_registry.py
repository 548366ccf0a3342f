"""The registry: look up, parse, validate, call the handler bound to the same definition."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field, ValidationError

from chapters import ch02
from chapters.ch02.registry import Arguments, Registry, define_tool
from shared.errors import ToolError
from shared.messages import ToolCall, ToolResult
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, fake_kit, run_script
from shared.tools import Effect, PreparedCall, Tool, call_handler

pytestmark = pytest.mark.anyio


class Count(Arguments):
    """How far to count, and how it is to look."""

    limit: int = Field(ge=1)
    label: str = ""


class Counter:
    """A tool that records every time it runs."""

    def __init__(self) -> None:
        self.ran: list[Count] = []
        self.tool = define_tool("count", "Count.", Effect.READ, Count, self.handler)

    async def handler(self, arguments: Count) -> str:
        self.ran.append(arguments)
        return f"{arguments.label}{arguments.limit}"


async def dispatch(registry: Registry, *calls: ToolCall) -> list[ToolResult]:
    results: list[ToolResult] = []
    await registry.run(calls, results.append, lambda _: None)
    return results


def registry_of(*tools: Tool) -> Registry:
    return Registry(tools, call_handler)


async def test_the_handler_receives_the_type_that_was_checked() -> None:
    counter = Counter()
    (result,) = await dispatch(registry_of(counter.tool), call("count", id="1", limit=3))
    assert result == ToolResult("1", "count", "3")
    assert counter.ran == [Count(limit=3)]


@pytest.mark.parametrize("limit", ["10", True, 0, -1, 1.0, 1.5, None, [3], {"n": 3}])
async def test_what_is_almost_a_number_is_not_a_limit(limit: object) -> None:
    counter = Counter()
    (result,) = await dispatch(registry_of(counter.tool), call("count", id="1", limit=limit))
    assert result.code == "invalid_arguments"
    assert "limit: " in result.text
    assert counter.ran == []


async def test_an_unknown_field_is_refused_and_named() -> None:
    counter = Counter()
    (result,) = await dispatch(
        registry_of(counter.tool), call("count", id="1", limit=3, colour="red")
    )
    assert result.code == "invalid_arguments"
    assert "colour" in result.text
    assert counter.ran == []


async def test_an_error_names_every_field_but_repeats_no_value() -> None:
    counter = Counter()
    (result,) = await dispatch(
        registry_of(counter.tool), call("count", id="1", limit="hunter2", label=7)
    )
    assert "limit: " in result.text
    assert "label: " in result.text
    assert "hunter2" not in result.text


async def test_an_unknown_name_lists_the_names_there_are() -> None:
    counter = Counter()
    (result,) = await dispatch(registry_of(counter.tool), call("cuont", id="1", limit=3))
    assert result.code == "unknown_tool"
    assert "The tools are: count." in result.text


async def test_prepare_has_no_side_effect_and_what_it_prepared_cannot_change() -> None:
    counter = Counter()
    prepared = registry_of(counter.tool).prepare(call("count", id="1", limit=3))
    assert counter.ran == []
    assert isinstance(prepared, PreparedCall)
    with pytest.raises(ValidationError, match="frozen"):
        prepared.arguments.limit = 1000


async def test_several_calls_are_answered_in_order_once_each() -> None:
    counter = Counter()
    calls = [call("count", id=str(number), limit=number) for number in range(1, 6)]
    calls.insert(2, ToolCall("broken", "count", "{"))
    results = await dispatch(registry_of(counter.tool), *calls)
    assert [result.call_id for result in results] == [each.id for each in calls]
    assert [arguments.limit for arguments in counter.ran] == [1, 2, 3, 4, 5]


async def test_the_schema_the_model_sees_is_the_definition() -> None:
    assert Counter().tool.spec.parameters == {
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1},
            "label": {"type": "string", "default": ""},
        },
        "required": ["limit"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize("name", ["", "two words", "päth", "a/b", "x" * 65, "read_file\n"])
async def test_a_name_that_no_provider_takes_is_a_mistake_at_once(name: str) -> None:
    tool = define_tool(name, "A tool.", Effect.READ, Count, Counter().handler)
    with pytest.raises(ValueError, match="does not match"):
        registry_of(tool)


async def test_two_tools_cannot_share_a_name() -> None:
    with pytest.raises(ValueError, match="two tools called 'count'"):
        registry_of(Counter().tool, Counter().tool)


@pytest.mark.parametrize("description", ["", "  "])
async def test_a_tool_without_a_description_is_a_mistake_at_once(description: str) -> None:
    tool = define_tool("count", description, Effect.READ, Count, Counter().handler)
    with pytest.raises(ValueError, match="no description"):
        registry_of(tool)


# What chapter 2 adds, exactly.


async def test_the_order_of_registration_is_the_order_on_the_wire() -> None:
    recording = await run_script(ch02.plan, [says("hello")])
    assert [spec.name for spec in recording.model.requests[0].tools] == [
        "shell",
        "read_file",
        "write_file",
        "edit_file",
        "glob",
    ]


async def test_chapter_two_adds_a_registry_and_four_tools_and_nothing_else() -> None:
    kit = fake_kit()
    plan = ch02.plan(kit)
    assert ch02.PROFILE.adds == ("tool_registry", "files")
    assert plan.dispatcher is Registry
    assert [(tool.name, tool.effect.value) for tool in plan.tools] == [
        ("shell", "execute"),
        ("read_file", "read"),
        ("write_file", "write"),
        ("edit_file", "write"),
        ("glob", "read"),
    ]
    assert [layer.name for layer in plan.tool_layers] == ["shell_question"]
    assert (plan.model_layers, plan.sources, plan.listeners) == ((), (), ())
    assert plan.system == ""


async def test_the_request_is_the_same_bytes_every_time() -> None:
    def wire() -> str:
        tools: list[Any] = [
            (tool.spec.name, tool.spec.description, tool.spec.parameters)
            for tool in ch02.plan(fake_kit()).tools
        ]
        return json.dumps(tools)

    assert wire() == wire()


async def test_chapter_ones_shell_is_still_asked_about() -> None:
    commands = FakeCommands()
    recording = await run_script(
        ch02.plan,
        [says(call("shell", command="ls")), says("done")],
        commands=commands,
        approver=FakeApprover("no"),
    )
    assert recording.results[0].code == "permission_denied"
    assert commands.commands == []


async def test_a_handler_error_keeps_its_code_through_the_registry() -> None:
    async def fail(arguments: Count) -> str:
        raise ToolError("file_not_found", "No such file.")

    tool = define_tool("count", "Count.", Effect.READ, Count, fail)
    (result,) = await dispatch(registry_of(tool), call("count", id="1", limit=1))
    assert result.code == "file_not_found"
