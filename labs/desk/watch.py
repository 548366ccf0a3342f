"""Check again whenever the reader saves the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from labs.desk.book import DeskError
from shared.screen import Screen, Style


def watch(screen: Screen, path: Path, shown: str, check: Callable[[], bool]) -> None:
    """Call `check` now and after every change of `path`, until it returns True.

    Editors replace a file as often as they write it, so the folder is watched, and everything in
    it but `path` is ignored.
    """
    try:
        from watchfiles import watch as changes
    except ImportError:
        raise DeskError(
            "--watch needs the package watchfiles:\n"
            "  pip install -e '.[dev]'\n"
            "Or check by hand after each save:\n"
            "  workbook check"
        ) from None
    before = _state(path)
    while not check():
        screen.line()
        screen.rule(f"watching {shown}: save it to check again, Ctrl-C to stop")
        # It may have been saved while it was checked, or in a folder that reports no changes:
        # so the file itself is looked at, twice a second at least.
        for _ in changes(path.parent, recursive=False, rust_timeout=500, yield_on_timeout=True):
            if _state(path) not in (before, None):
                break
        before = _state(path)
        screen.line()
    screen.line("Watching ends here: nothing moves on by itself.", Style.ASIDE)


def _state(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:  # between the two steps of an editor's save
        return None
    return stat.st_mtime_ns, stat.st_size
