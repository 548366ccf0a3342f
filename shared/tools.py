"""What a tool is, and the shape of everything that can be wrapped around a call of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from shared.messages import Image, ToolCall, ToolSpec


class Effect(StrEnum):
    """What the worst call of a tool can do. Policies decide by effect, not by name."""

    READ = "read"
    WRITE = "write"
    EXECUTE = "execute"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class Output:
    """What a tool returns that has more to show than text."""

    text: str
    images: tuple[Image, ...] = ()


Returned = str | Output
"""What a handler gives back: the text for the model, or text and pictures."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One capability: what the model sees, how its arguments are checked, what runs.

    `validate` turns the parsed JSON object into the handler's arguments, or raises
    ToolError("invalid_arguments") without having done anything. `handler` receives exactly what
    `validate` returned, gives back what the model shall see, and raises ToolError for a failure the
    model can react to.
    """

    spec: ToolSpec
    effect: Effect
    validate: Callable[[Mapping[str, Any]], Any]
    handler: Callable[[Any], Awaitable[Returned]]

    @property
    def name(self) -> str:
        """The name the model calls it by."""
        return self.spec.name


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call that was found, parsed and validated. Nothing has run; what is here is what will."""

    tool: Tool
    call: ToolCall
    arguments: Any


Invoke = Callable[[PreparedCall], Awaitable[Returned]]
"""Runs one validated call and returns what the model shall see, or raises ToolError."""


@dataclass(frozen=True, slots=True)
class ToolLayer:
    """A named wrapper around every validated call: permissions, hooks, budgets.

    `wrap` receives the next `Invoke` and returns one that may call it, refuse (raise ToolError), or
    change the answer. A later chapter replaces a layer by its name.
    """

    name: str
    wrap: Callable[[Invoke], Invoke]


async def call_handler(prepared: PreparedCall) -> Returned:
    """The innermost `Invoke`: the tool's own handler and nothing else."""
    return await prepared.tool.handler(prepared.arguments)


def wrap_layers(layers: tuple[ToolLayer, ...]) -> Invoke:
    """The handler with `layers` around it, the first one innermost."""
    invoke: Invoke = call_handler
    for layer in layers:
        invoke = layer.wrap(invoke)
    return invoke
