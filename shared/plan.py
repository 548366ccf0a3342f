"""The plan of an agent: a value that says what is in it, and how a chapter adds to another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from shared.conversation import Conversation
    from shared.events import Listener
    from shared.ports import (
        Approver,
        Audit,
        Clock,
        CommandRunner,
        Dispatcher,
        Loop,
        Model,
        ModelLayer,
        Participant,
        Source,
        WorkspaceFiles,
    )
    from shared.tools import Invoke, Tool, ToolLayer

    DispatcherFactory = Callable[[tuple[Tool, ...], Invoke], Dispatcher]

Named = TypeVar("Named", "ToolLayer", "ModelLayer")


@dataclass(frozen=True, slots=True)
class Profile:
    """What a chapter is called and what it adds: enough to list it without loading its code."""

    chapter: int
    title: str
    adds: tuple[str, ...]
    tools: tuple[str, ...]
    capabilities: tuple[str, ...] = ()

    @classmethod
    def first(cls, *, title: str, adds: tuple[str, ...], tools: tuple[str, ...]) -> Profile:
        """The profile of chapter 1, which stands on nothing."""
        return cls(1, title, adds, tools, capabilities=adds)

    def extend(
        self, *, chapter: int, title: str, adds: tuple[str, ...], tools: tuple[str, ...] = ()
    ) -> Profile:
        """The next chapter's profile: everything so far, plus `adds`; `tools` are the new ones."""
        if chapter != self.chapter + 1:
            raise ValueError(f"chapter {chapter} cannot follow chapter {self.chapter}")
        return Profile(chapter, title, adds, self.tools + tools, self.capabilities + adds)


@dataclass(frozen=True, slots=True)
class Kit:
    """What the outside world hands in. Only `labs/` makes one from real adapters."""

    model: Model
    files: WorkspaceFiles
    commands: CommandRunner
    approver: Approver | None = None
    audit: Audit | None = None
    participants: tuple[Participant, ...] = ()
    clock: Clock | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """An agent before it is put together: what it has, in order, and nothing running.

    Layers are listed from the inside out: the first one is nearest to the handler or the model.
    """

    loop: Loop
    dispatcher: DispatcherFactory
    tools: tuple[Tool, ...] = ()
    tool_layers: tuple[ToolLayer, ...] = ()
    model_layers: tuple[ModelLayer, ...] = ()
    sources: tuple[Source, ...] = ()
    listeners: tuple[Listener, ...] = ()
    system: str = ""

    def with_tools(self, *tools: Tool) -> Plan:
        """The same plan with more tools, after the ones it has."""
        return replace(self, tools=self.tools + tools)

    def with_dispatcher(self, dispatcher: DispatcherFactory) -> Plan:
        """The same plan, its calls run by another dispatcher."""
        return replace(self, dispatcher=dispatcher)

    def with_tool_layer(self, layer: ToolLayer, *, replacing: str | None = None) -> Plan:
        """The same plan with one more tool layer outside the others, or in the place of one."""
        return replace(self, tool_layers=_placed(self.tool_layers, layer, replacing))

    def with_model_layer(self, layer: ModelLayer, *, replacing: str | None = None) -> Plan:
        """The same plan with one more model layer outside the others, or in the place of one."""
        return replace(self, model_layers=_placed(self.model_layers, layer, replacing))

    def with_sources(self, *sources: Source) -> Plan:
        """The same plan with more sources of messages."""
        return replace(self, sources=self.sources + sources)

    def with_listeners(self, *listeners: Listener) -> Plan:
        """The same plan with more listeners."""
        return replace(self, listeners=self.listeners + listeners)

    def with_system(self, system: str) -> Plan:
        """The same plan with this system prompt."""
        return replace(self, system=system)

    def build(self, kit: Kit) -> Conversation:
        """Put it together around the loop: a conversation that can be asked something."""
        from shared.conversation import Conversation

        return Conversation(self, kit.model)


def _placed(layers: tuple[Named, ...], layer: Named, replacing: str | None) -> tuple[Named, ...]:
    names = [other.name for other in layers]
    if replacing is None:
        if layer.name in names:
            raise ValueError(
                f"there is a layer {layer.name!r} already; say replacing= to change it"
            )
        return layers + (layer,)  # noqa: RUF005 (the unpacked form loses the type)
    if replacing not in names:
        raise ValueError(f"no layer {replacing!r} to replace; there are {names}")
    return tuple(layer if other.name == replacing else other for other in layers)
