"""What chapter 5 adds to the agent: one layer around the model, and a clock that it waits by."""

from __future__ import annotations

import dataclasses

import pytest

from chapters import ch04, ch05
from chapters.ch01.loop import run as the_loop
from shared.testing import fake_kit


def test_the_chapter_adds_one_model_layer_and_nothing_else() -> None:
    kit = fake_kit()
    before, after = ch04.plan(kit), ch05.plan(kit)
    assert ch05.PROFILE.adds == ("streaming",)
    assert ch05.PROFILE.capabilities == (*ch04.PROFILE.capabilities, "streaming")
    assert ch05.PROFILE.tools == ch04.PROFILE.tools
    assert [layer.name for layer in after.model_layers] == ["retry"]
    assert [tool.spec for tool in after.tools] == [tool.spec for tool in before.tools]
    assert [layer.name for layer in after.tool_layers] == ["permissions"]
    same = {"tools": (), "tool_layers": (), "model_layers": ()}
    assert dataclasses.replace(after, **same) == dataclasses.replace(before, **same)  # type: ignore[arg-type]
    assert after.loop is the_loop


def test_an_agent_that_cannot_wait_is_not_built() -> None:
    kit = dataclasses.replace(fake_kit(), clock=None)
    with pytest.raises(ValueError, match="chapter 5 needs a clock"):
        ch05.plan(kit)
