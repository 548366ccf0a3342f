"""The audit: one JSON line for every decision, on the disk before the tool runs."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chapters.ch03.arguments import fields
from chapters.ch03.redaction import redacted
from shared.decision import Decision
from shared.tools import PreparedCall


# region: entry
def entry(prepared: PreparedCall, decision: Decision, who: str) -> dict[str, Any]:
    """What is written down about one decision. Arguments with a secret's name lose their value.

    `who` is `policy`, `person`, or `nobody` where a person was asked and did not answer.
    """
    return {
        "call_id": prepared.call.id,
        "tool": prepared.tool.name,
        "effect": str(prepared.tool.effect),
        "arguments": redacted(fields(prepared.arguments)),
        "decision": str(decision.behaviour),
        "reason": decision.reason,
        "source": decision.source,
        "who": who,
    }


# endregion: entry


# region: file
class AuditFile:
    """Appends to a file, one line a decision, and forces each line onto the disk."""

    def __init__(self, path: Path, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._path = path
        self._now = now

    def record(self, entry: Mapping[str, Any]) -> None:
        """Write one line. Raises OSError if it cannot be written whole."""
        line = json.dumps({"time": self._now().isoformat(), **entry}, ensure_ascii=True) + "\n"
        descriptor = os.open(self._path, FLAGS, 0o600)
        try:
            _lock(descriptor)  # until it is closed: the next line looks at how this one ends
            if _ends_within_a_line(descriptor):  # the disk was full: that line must not spoil this
                line = f"\n{line}"
            data = line.encode()
            if os.write(descriptor, data) != len(data):
                raise OSError("the audit line was not written whole")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


# endregion: file

FLAGS = (
    os.O_RDWR
    | os.O_APPEND
    | os.O_CREAT
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

PATIENCE = 5.0  # seconds that another program may take to write its line


def _lock(descriptor: int) -> None:
    """Wait until no other program writes. Raises OSError if one never stops."""
    if sys.platform == "win32":
        return
    import fcntl

    end = time.monotonic() + PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise OSError("another program keeps the audit locked") from None
            time.sleep(0.005)
        except OSError:  # a file system without locks
            return
        else:
            return


def _ends_within_a_line(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if size == 0:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"
