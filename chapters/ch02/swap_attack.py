"""A second process that keeps exchanging two names, to see who can be fooled by that.

One name is a directory of the workspace, the other a link that leads out of it. Whoever checks one
of them and then opens it by name will sooner or later check the directory and open the link.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

_HERE = -100  # AT_FDCWD: names are relative to the current directory
_EXCHANGE = 2  # RENAME_EXCHANGE


class SwapAttack:
    """Exchanges the names `a` and `b` in another process while its `with` block runs.

    It ends by itself after `seconds` or `most` exchanges, and leaves both names as they were.
    `swaps` is the number of exchanges made, known after the block.
    """

    def __init__(self, a: Path, b: Path, *, seconds: float = 5.0, most: int = 10_000_000) -> None:
        self._command = [sys.executable, "-I", __file__, str(a), str(b), str(seconds), str(most)]
        self.swaps = 0

    def __enter__(self) -> SwapAttack:
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()  # it has begun
        return self

    def __exit__(self, *_about: object) -> None:
        try:
            # This closes its standard input, which tells it to stop.
            answer, _ = self._process.communicate(timeout=5)
            self.swaps = int(answer or 0)
        finally:
            self._process.kill()
            self._process.wait()


def atomic_swap() -> Callable[[str, str], None] | None:
    """The system call that exchanges two names in one step; None if this system has none."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return None

    def swap(a: str, b: str) -> None:
        if library.renameat2(_HERE, os.fsencode(a), _HERE, os.fsencode(b), _EXCHANGE):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    return swap


def swap_by_renaming(a: str, b: str) -> None:
    """The same in three steps, for systems without that call: for a moment a name is missing."""
    spare = f"{a}.spare"
    Path(a).rename(spare)
    try:
        Path(b).rename(a)
    except OSError:
        Path(spare).rename(a)
        raise
    Path(spare).rename(b)


def _attack(a: str, b: str, seconds: float, most: int) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that started us
    stop = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    swap = atomic_swap() or swap_by_renaming
    deadline = time.monotonic() + seconds
    swaps = 0
    print("ready", flush=True)
    while time.monotonic() < deadline:
        # Stop only after an even number of exchanges: both names are as they were.
        if swaps % 2 == 0 and (swaps >= most or stop.is_set()):
            break
        with contextlib.suppress(OSError):  # the victim was in the way: once more
            swap(a, b)
            swaps += 1
    if swaps % 2:
        swap(a, b)
        swaps += 1
    return swaps


if __name__ == "__main__":
    print(_attack(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
