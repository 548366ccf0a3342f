"""The plan: every agent contains the one before, runs the same loop, and says what it adds."""

from __future__ import annotations

import importlib
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import chapters
from chapters.ch01.loop import run
from shared.events import Emit
from shared.messages import AssistantMessage, Request
from shared.plan import Kit, Plan, Profile
from shared.ports import Model, ModelLayer
from shared.scripted import ScriptedModel, says
from shared.testing import fake_kit, run_script
from shared.tools import ToolLayer

CHAPTERS = [
    importlib.import_module(f"chapters.{folder.name}")
    for folder in sorted(Path(chapters.__path__[0]).glob("ch[0-9][0-9]"))
]


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.__name__)
def test_every_chapter_runs_the_same_loop(chapter: ModuleType) -> None:
    assert chapter.plan(fake_kit()).loop is run


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.__name__)
def test_a_profile_tells_the_truth_about_its_plan(chapter: ModuleType) -> None:
    names = tuple(tool.name for tool in chapter.plan(fake_kit()).tools)
    assert chapter.PROFILE.tools == names
    assert f"ch{chapter.PROFILE.chapter:02d}" == chapter.__name__.rpartition(".")[2]


@pytest.mark.parametrize(
    ("earlier", "later"),
    list(pairwise(CHAPTERS)),
    ids=lambda chapter: chapter.__name__,
)
def test_a_later_agent_contains_every_earlier_tool(earlier: ModuleType, later: ModuleType) -> None:
    kit = fake_kit()
    before = [tool.spec for tool in earlier.plan(kit).tools]
    after = [tool.spec for tool in later.plan(kit).tools]
    assert after[: len(before)] == before
    assert later.PROFILE.capabilities[: len(earlier.PROFILE.capabilities)] == (
        earlier.PROFILE.capabilities
    )


def layer(name: str) -> ToolLayer:
    return ToolLayer(name, lambda invoke: invoke)


def test_a_layer_is_added_outside_or_takes_the_place_of_one() -> None:
    plan = CHAPTERS[0].plan(fake_kit()).with_tool_layer(layer("second"))
    assert [each.name for each in plan.tool_layers] == ["shell_question", "second"]
    replaced = plan.with_tool_layer(layer("policy"), replacing="shell_question")
    assert [each.name for each in replaced.tool_layers] == ["policy", "second"]


def test_a_layer_cannot_be_added_twice_or_replace_nothing() -> None:
    plan = CHAPTERS[0].plan(fake_kit())
    with pytest.raises(ValueError, match="already"):
        plan.with_tool_layer(layer("shell_question"))
    with pytest.raises(ValueError, match="no layer 'nothing'"):
        plan.with_tool_layer(layer("policy"), replacing="nothing")


def test_a_plan_is_a_value() -> None:
    plan = CHAPTERS[0].plan(fake_kit())
    plan.with_system("be brief")
    assert plan.system == ""


def test_chapters_follow_one_another() -> None:
    first = Profile.first(title="One", adds=("a",), tools=("t",))
    with pytest.raises(ValueError, match="chapter 3 cannot follow chapter 1"):
        first.extend(chapter=3, title="Three", adds=("b",))
    second = first.extend(chapter=2, title="Two", adds=("b",), tools=("u",))
    assert second.capabilities == ("a", "b")
    assert second.tools == ("t", "u")


class Marking:
    """A model layer that leaves a mark on the request, to show the order of the layers."""

    def __init__(self, model: Model, mark: str) -> None:
        self._model, self._mark = model, mark

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        marked = Request(request.messages, request.tools, request.system + self._mark)
        return await self._model.reply(marked, emit)


def marking(mark: str) -> ModelLayer:
    return ModelLayer(mark, lambda model: Marking(model, mark))


@pytest.mark.anyio
async def test_the_system_prompt_is_in_the_request_and_not_in_the_history() -> None:
    recording = await run_script(
        lambda kit: CHAPTERS[0].plan(kit).with_system("be brief"), [says("ok")]
    )
    assert recording.model.requests[0].system == "be brief"
    assert "be brief" not in repr(recording.messages)


@pytest.mark.anyio
async def test_the_first_model_layer_is_nearest_to_the_model() -> None:
    def plan(kit: Kit) -> Plan:
        base: Plan = CHAPTERS[0].plan(kit)
        return base.with_model_layer(marking("inner")).with_model_layer(marking(" outer"))

    recording = await run_script(plan, [says("ok")])
    assert recording.model.requests[0].system == " outerinner"


@pytest.mark.anyio
@pytest.mark.parametrize("prompt", ["", "  \n"])
async def test_an_empty_prompt_is_refused_before_anything_is_sent(prompt: str) -> None:
    model = ScriptedModel([says("ok")])
    kit = fake_kit(model)
    with pytest.raises(ValueError, match="prompt is empty"):
        await CHAPTERS[0].plan(kit).build(kit).ask(prompt)
    assert model.requests == []
