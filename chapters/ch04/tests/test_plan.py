"""What chapter 4 adds to the agent: a capability behind the model, and nothing in front of it."""

from __future__ import annotations

import dataclasses

from chapters import ch03, ch04
from chapters.ch01.loop import run as the_loop
from shared.testing import fake_kit


def test_the_chapter_adds_providers_and_no_tool_and_no_layer() -> None:
    kit = fake_kit()
    before, after = ch03.plan(kit), ch04.plan(kit)
    assert ch04.PROFILE.adds == ("providers",)
    assert ch04.PROFILE.capabilities == (*ch03.PROFILE.capabilities, "providers")
    assert ch04.PROFILE.tools == ch03.PROFILE.tools
    assert [tool.spec for tool in after.tools] == [tool.spec for tool in before.tools]
    assert [layer.name for layer in after.tool_layers] == ["permissions"]
    assert after.model_layers == ()
    assert dataclasses.replace(after, tools=(), tool_layers=()) == dataclasses.replace(
        before, tools=(), tool_layers=()
    )
    assert after.loop is the_loop
