"""What keeps a run of the reader's code from outliving the desk, or from taking all memory."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

MEMORY = 2 * 1024**3  # bytes
GRACE = 5.0  # seconds after which a test that the desk should have stopped ends itself
LOOK_AGAIN = 0.5  # seconds
MEMORY_SENTENCE = f"It took more than {MEMORY // 1024**3} GB of memory and was stopped."


def limit_memory(size: int = MEMORY) -> None:
    """Let whatever asks for more than `size` bytes get a MemoryError, where the system can do that.

    Only what is written to is counted: the address space that threads reserve costs nothing.
    """
    if sys.platform == "win32":
        return
    import resource

    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    sizes = [each for each in (size, hard) if each != resource.RLIM_INFINITY]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (min(sizes), hard))


def end_with(desk: int) -> None:
    """From now on, end this process and all it started as soon as the process `desk` is gone."""
    watching = threading.Thread(target=_outlive, args=(desk, os.getppid()), daemon=True)
    watching.start()


def _outlive(desk: int, parent: int) -> None:
    import psutil  # type: ignore[import-untyped]

    # On Windows a launcher may stand between the two; elsewhere an orphan is given a new parent.
    while psutil.pid_exists(desk) and os.getppid() == parent:
        time.sleep(LOOK_AGAIN)
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            child.kill()
    os._exit(1)


@contextmanager
def ended_by_alarm(seconds: float) -> Iterator[None]:
    """End the process after `seconds`, even if it never comes back into Python."""
    if sys.platform == "win32":
        yield
        return
    import signal

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
