"""The registry: the one place where a name becomes a tool and text becomes arguments."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from chapters.ch01.dispatch import prepare, run_in_order, unknown_tool
from shared.errors import ToolError
from shared.events import Emit
from shared.messages import ToolCall, ToolResult, ToolSpec
from shared.tools import Effect, Invoke, PreparedCall, Returned, Tool

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


# region: arguments
class Arguments(BaseModel):
    """The base of every tool's arguments: no conversions, no unknown fields, no changes later."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


A = TypeVar("A", bound=Arguments)


def define_tool(
    name: str,
    description: str,
    effect: Effect,
    arguments: type[A],
    handler: Callable[[A], Awaitable[Returned]],
) -> Tool:
    """A tool from one definition: `arguments` is the schema, the check and the handler's type."""

    def validate(parsed: Mapping[str, Any]) -> A:
        try:
            return arguments.model_validate(parsed)
        except ValidationError as error:
            raise ToolError("invalid_arguments", explain(error)) from None

    return Tool(ToolSpec(name, description, schema_of(arguments)), effect, validate, handler)


# endregion: arguments


def explain(error: ValidationError) -> str:
    """Which field, and why: one sentence for each problem, without the value that was sent."""
    return " ".join(
        f"{'.'.join(str(step) for step in problem['loc']) or 'arguments'}: {problem['msg']}."
        for problem in error.errors(include_url=False, include_input=False, include_context=False)
    )


def schema_of(arguments: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema the model sees, without what pydantic adds for other readers."""
    schema = arguments.model_json_schema()
    schema.pop("description", None)  # the docstring of the class is for us, not for the model
    _strip(schema)
    return schema


def _strip(schema: dict[str, Any]) -> None:
    schema.pop("title", None)
    if schema.get("default", ...) is None:  # "not given" needs no value on the wire
        del schema["default"]
    for named in ("properties", "$defs"):
        for inner in schema.get(named, {}).values():
            _strip(inner)
    for single in ("items", "additionalProperties"):
        if isinstance(schema.get(single), dict):
            _strip(schema[single])
    for several in ("anyOf", "allOf", "oneOf"):
        for inner in schema.get(several, []):
            _strip(inner)


class Registry:
    """All the tools of an agent by name, and the way a call takes to one of them.

    Names match `[A-Za-z0-9_-]{1,64}` and are unique, descriptions are not empty: anything else is
    a mistake of the programmer and raises ValueError at once. The order of registration is the
    order on the wire.
    """

    def __init__(self, tools: Sequence[Tool], invoke: Invoke) -> None:
        self._tools: dict[str, Tool] = {}
        self._invoke = invoke
        for tool in tools:
            self._register(tool)
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in self._tools.values())

    # region: calls
    def prepare(self, call: ToolCall) -> PreparedCall:
        """Find the tool, parse, validate. Has no side effect; raises ToolError."""
        tool = self._tools.get(call.name)
        if tool is None:
            raise unknown_tool(call, list(self._tools))
        return prepare(tool, call)

    async def invoke(self, prepared: PreparedCall) -> Returned:
        """Run a prepared call through the layers to its handler."""
        return await self._invoke(prepared)

    # endregion: calls

    async def run(
        self, calls: Sequence[ToolCall], answer: Callable[[ToolResult], None], emit: Emit
    ) -> None:
        """Answer every call, in order."""
        await run_in_order(calls, self._attempt, answer, emit)

    async def _attempt(self, call: ToolCall) -> Returned:
        return await self.invoke(self.prepare(call))

    def _register(self, tool: Tool) -> None:
        if not NAME.fullmatch(tool.name):
            raise ValueError(f"tool name {tool.name!r} does not match {NAME.pattern}")
        if tool.name in self._tools:
            raise ValueError(f"there are two tools called {tool.name!r}")
        if not tool.spec.description.strip():
            raise ValueError(f"tool {tool.name!r} has no description")
        self._tools[tool.name] = tool
