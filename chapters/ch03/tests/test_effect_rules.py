"""The default: by what a tool can do, not by what it is called."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from chapters import ch03
from chapters.ch03.effect_rules import SAYS, EffectRules
from chapters.ch03.tests.calls import prepared
from shared.decision import Behaviour
from shared.messages import ToolSpec
from shared.scripted import ScriptedModel, call, says
from shared.testing import FakeApprover, fake_kit
from shared.tools import Effect, PreparedCall, Tool

pytestmark = pytest.mark.anyio


def with_effect(effect: Any) -> PreparedCall:
    base = prepared("shell", command="ls")
    return dataclasses.replace(base, tool=dataclasses.replace(base.tool, effect=effect))


@pytest.mark.parametrize("effect", Effect)
async def test_only_reading_passes(effect: Effect) -> None:
    said = await EffectRules().decide(with_effect(effect))
    assert said.behaviour is (Behaviour.PASS if effect is Effect.READ else Behaviour.ASK)
    assert effect in SAYS


async def test_an_effect_that_nobody_has_thought_about_asks() -> None:
    assert (await EffectRules().decide(with_effect("teleport"))).behaviour is Behaviour.ASK


async def test_a_tool_that_nobody_has_heard_of_asks() -> None:
    ran: list[object] = []

    async def handler(arguments: object) -> str:
        ran.append(arguments)
        return "sent"

    approver = FakeApprover("no")
    kit = fake_kit(
        ScriptedModel([says(call("send_mail", to="a@example.org")), says("done")]),
        approver=approver,
    )
    tool = Tool(ToolSpec("send_mail", "Send.", {"type": "object"}), Effect.EXTERNAL, dict, handler)
    await ch03.plan(kit).with_tools(tool).build(kit).ask("go")
    assert ran == []
    assert "send_mail (external)" in approver.questions[0]
    assert "  to: a@example.org" in approver.questions[0]
