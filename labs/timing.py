"""Figures as ratios: two actions timed in turn, in CPU time, in the same process."""

from __future__ import annotations

import gc
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Figure:
    """One ratio: what it is, its median and range over the rounds, and the target."""

    name: str
    ratio: float
    lowest: float
    highest: float
    target: str


def paired(name: str, target: str, ours: Callable[[], None], floor: Callable[[], None]) -> Figure:
    """Time both in turn, `ROUNDS` times, and take the median of the ratios of each round."""
    ours()
    floor()
    ratios = []
    for _ in range(ROUNDS):
        base = cpu_seconds(floor)
        ratios.append(cpu_seconds(ours) / base)
    return Figure(name, statistics.median(ratios), min(ratios), max(ratios), target)


def cpu_seconds(action: Callable[[], None]) -> float:
    """CPU time of one call, children it waited for included, with the collector off."""
    gc.collect()
    gc.disable()
    try:
        begun = time.process_time() + children_seconds()
        action()
        return time.process_time() + children_seconds() - begun
    finally:
        gc.enable()


def children_seconds() -> float:
    """CPU time of the children that have ended so far."""
    try:
        import resource
    except ImportError:  # Windows, which counts in coarser steps
        times = os.times()
        return times.children_user + times.children_system
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def growth(name: str, target: str, action: Callable[[int], None], few: int, many: int) -> Figure:
    """The cost of a turn in a run of `many` turns over that in a run of `few`."""
    repeat = many // few

    def short() -> None:
        for _ in range(repeat):
            action(few)

    return paired(name, target, lambda: action(many), short)
