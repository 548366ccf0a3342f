"""A plan as an onion: what a request and a call pass through, from the outside in."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from shared.plan import Plan
from shared.screen import Screen, Style, fold
from shared.text import visible

ABOUT_COLUMN = 28
ANY_MODEL = "a provider, a script, or you"


@dataclass(frozen=True, slots=True)
class Skin:
    """One line of the onion: how deep it lies, what it is, whether the chapter before lacks it."""

    depth: int
    name: str
    about: str = ""
    new: bool = False
    heading: bool = False


def skins(
    plan: Plan, before: Plan | None, *, model: str = ANY_MODEL, old_model: str = ANY_MODEL
) -> Iterator[Skin]:
    """The lines for `plan`; new is what `before`, the plan of the last chapter, does not have.

    `model` says what can be the model, and `old_model` what could be before.
    """
    yield Skin(0, "loop", _place(plan.loop), before is None or plan.loop is not before.loop)

    yield Skin(0, "A request to the model passes, from the outside in:", heading=True)
    depth = 1
    old = {layer.name for layer in before.model_layers} if before else set()
    for model_layer in reversed(plan.model_layers):
        yield Skin(depth, model_layer.name, "model layer", model_layer.name not in old)
        depth += 1
    if plan.system:  # its layer is the innermost
        new = before is None or plan.system != before.system
        yield Skin(depth, "system prompt", _sentence(plan.system), new)
        depth += 1
    yield Skin(depth, "the model", model, new=before is None or model != old_model)

    yield Skin(0, "A tool call passes, from the outside in:", heading=True)
    dispatcher = plan.dispatcher
    name = getattr(dispatcher, "__name__", type(dispatcher).__name__)
    new = before is None or dispatcher is not before.dispatcher
    yield Skin(1, name, _sentence(inspect.getdoc(dispatcher) or "dispatcher"), new)
    depth = 2
    old = {layer.name for layer in before.tool_layers} if before else set()
    for tool_layer in reversed(plan.tool_layers):
        yield Skin(depth, tool_layer.name, "tool layer", tool_layer.name not in old)
        depth += 1
    old = {tool.name for tool in before.tools} if before else set()
    for tool in plan.tools:
        about = f"{tool.effect.value:<8} {_sentence(tool.spec.description)}"
        yield Skin(depth, tool.name, about, tool.name not in old)

    yield from _others("Sources", plan.sources, before.sources if before else ())
    yield from _others("Listeners", plan.listeners, before.listeners if before else ())


def draw(lines: Iterable[Skin], screen: Screen) -> None:
    """Write the onion: a + stands before what is new."""
    for skin in lines:
        if skin.heading:
            screen.line()
        style = Style.GOOD if skin.new else Style.PLAIN
        left = f"{'+' if skin.new else ' '} {'  ' * skin.depth}{visible(skin.name)}"
        if not skin.about:
            screen.line(left, style)
            continue
        left = left.ljust(ABOUT_COLUMN - 1) + " "
        for piece in fold(visible(skin.about), screen.width - ABOUT_COLUMN):
            screen.line((screen.paint(left, style) + piece).rstrip())
            left = " " * ABOUT_COLUMN


def _others(title: str, now: Sequence[object], before: Sequence[object]) -> Iterator[Skin]:
    yield Skin(0, f"{title}:" if now else f"{title}: none", heading=True)
    old = [_place(each) for each in before]
    for each in now:
        yield Skin(1, _place(each), new=_place(each) not in old)


def _place(thing: object) -> str:
    """Where a function, or the class of an object, is written."""
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{getattr(named, '__qualname__', '')}"


def _sentence(text: str) -> str:
    """The first sentence of a text, on one line."""
    first = " ".join(text.split()).partition(". ")[0]
    return first.rstrip(".:") + "."
