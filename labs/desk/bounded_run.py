"""A run of a program that ends when this one does, and whose output takes no room."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

KEPT = 64 * 1024  # bytes of what a run prints: its end is what says why it ended
LOOK_AGAIN = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended. `said` is the end of what it printed."""

    code: int
    stopped: bool
    said: str


def run_bounded(
    command: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    overdue: Callable[[], bool],
) -> Outcome:
    """Run `command` until it ends, or until `overdue` says so: then it is killed with all it began.

    A reader's loop may print without end: it is read at once, and only the last of it is kept.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    stopped = False
    try:
        assert process.stdout is not None
        tail = Tail(process.stdout)
        tail.start()
        while not stopped:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=LOOK_AGAIN)
                break
            stopped = overdue()
    finally:
        if process.poll() is None:
            from chapters.ch01.process_tree import kill_tree

            kill_tree(process.pid)
            process.wait()
    return Outcome(process.returncode, stopped, tail.text())


class Tail(threading.Thread):
    """Reads a stream to its end and keeps the last of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._stream = stream
        self._kept = b""

    def run(self) -> None:
        """Read until nobody writes any more."""
        with self._stream:
            while chunk := os.read(self._stream.fileno(), KEPT):
                self._kept = (self._kept + chunk)[-KEPT:]

    def text(self) -> str:
        """What was kept. A process left behind may hold the stream open: it is not waited for."""
        self.join(timeout=1)
        return self._kept.decode("utf-8", "replace")


@contextmanager
def cleaned_up_when_told_to_end() -> Iterator[None]:
    """SIGTERM, or a terminal that is closed, ends this block as an exception does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are handled in the main thread, whatever the others do
        return
    names = ("SIGTERM", "SIGHUP", "SIGBREAK")  # the last two: where the system has them
    wanted = [getattr(signal, name) for name in names if hasattr(signal, name)]
    usual = {each: signal.getsignal(each) for each in wanted}
    heard = [each for each in wanted if usual[each] is not signal.SIG_IGN]  # nohup stays nohup

    def end(number: int, _: FrameType | None) -> None:
        for each in heard:
            signal.signal(each, signal.SIG_IGN)  # a second one must not end the clearing up
        raise SystemExit(128 + number)

    for each in heard:
        signal.signal(each, end)
    try:
        yield
    finally:
        for each in heard:
            before = usual[each]
            signal.signal(each, signal.SIG_DFL if before is None else before)
