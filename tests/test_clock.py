"""The real clock: what a kit hands in where a test hands in a fake."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from labs.clock import SystemClock
from labs.kit import open_kit
from shared.scripted import ScriptedModel
from shared.testing import FakeApprover


def test_every_kit_of_the_workbook_has_the_real_clock(tmp_path: Path) -> None:
    with open_kit(tmp_path, ScriptedModel([]), FakeApprover(), secrets=()) as kit:
        assert isinstance(kit.clock, SystemClock)


def test_its_time_does_not_go_back_and_its_chance_is_a_part_of_one() -> None:
    clock = SystemClock()
    times = [clock.now() for _ in range(100)]
    chances = [clock.random() for _ in range(100)]
    assert times == sorted(times)
    assert all(0 <= chance < 1 for chance in chances)
    assert len(set(chances)) > 50


@pytest.mark.anyio
async def test_a_wait_by_it_can_be_cancelled() -> None:
    waiting = asyncio.create_task(SystemClock().sleep(3600))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


@pytest.mark.anyio
async def test_others_go_on_while_it_waits() -> None:
    went_on = asyncio.Event()
    asyncio.get_running_loop().call_soon(went_on.set)
    await SystemClock().sleep(0)
    await asyncio.sleep(0)
    assert went_on.is_set()
