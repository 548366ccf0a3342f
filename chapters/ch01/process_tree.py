"""Ending a process together with everything it started."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import psutil  # type: ignore[import-untyped]

ROUNDS = 20  # of looking for processes that were started while we looked
PATIENCE = 1.0  # seconds until a killed process must be gone


# region: kill_tree
def kill_tree(root: int) -> None:
    """Kill the process `root`, which leads its own session, and all its descendants.

    First everything is stopped: its group at one blow, then whoever a look round finds, until it
    finds nobody new, for who is stopped starts no more processes. Then everything is killed.
    Neither can be refused, and no process is asked to end politely. Returns when all are gone, or
    after `PATIENCE` seconds.

    Not found: a process that has left on purpose, into a session of its own and with no parent
    alive that belongs to the tree.
    """
    with interrupts_held_back():
        tree = stop_all(root)
        kill_all(tree)


def stop_all(root: int) -> list[psutil.Process]:
    """Stop `root` and its descendants, parents mostly before children, and return them."""
    if sys.platform != "win32":
        # Looking takes a while, and processes that double meanwhile would win the race.
        _attempt(lambda: os.killpg(root, signal.SIGSTOP))
    tree: dict[int, psutil.Process] = {}
    for _ in range(ROUNDS):
        new = [process for process in _relatives(root, set(tree)) if process.pid not in tree]
        if not new:
            break
        for process in new:
            tree[process.pid] = process
            _attempt(process.suspend)
    return list(tree.values())


def kill_all(tree: list[psutil.Process]) -> None:
    """Kill stopped processes, and wait until they are gone."""
    give_up = time.monotonic() + PATIENCE
    # Children before parents: those whose parent dies first may be woken up by the system.
    alive = tree[::-1]
    while alive and time.monotonic() < give_up:
        for process in alive:
            _attempt(process.kill)
        time.sleep(0.002)
        alive = [process for process in alive if _runs(process)]


# endregion: kill_tree


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Ctrl-C waits until the end of this block: halfway it would leave a tree stopped for ever."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread, whatever the others do
        return
    held_back: list[FrameType | None] = []
    usual = signal.signal(signal.SIGINT, lambda _, frame: held_back.append(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if usual is None else usual)
        if held_back and callable(usual):
            usual(signal.SIGINT, held_back[-1])


def _relatives(root: int, known: set[int]) -> list[psutil.Process]:
    """The processes that belong to `root` or to one of the `known` ones, these included."""
    if sys.platform == "win32":
        with suppress(psutil.Error):
            parent = psutil.Process(root)
            return [parent, *parent.children(recursive=True)]
        return []
    everybody = []
    for pid in psutil.pids():
        with suppress(psutil.Error, OSError):
            process = psutil.Process(pid)
            everybody.append((process, {process.ppid(), os.getsid(pid)}))
    # A process belongs to the tree if its parent does. If the parent has died the process was given
    # to another one, but it is still in the session that it was started in.
    family = {root} | known
    size = 0
    while len(family) > size:
        size = len(family)
        family |= {process.pid for process, elders in everybody if elders & family}
    return [process for process, _ in everybody if process.pid in family]


def _runs(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    return False


def _attempt(action: Callable[[], object]) -> None:
    with suppress(psutil.Error, OSError):  # gone already, or not ours to touch (sudo)
        action()
