"""Where the audit of a run is kept: outside the workspace, where no file tool can rewrite it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path

from shared.errors import ConfigError
from shared.text import shorten


def default_place(environ: Mapping[str, str] = os.environ) -> Path:
    """The audit in the user's folder for the state of programs. Raises ConfigError without one."""
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        if (folder := environ.get(name)) and Path(folder).is_absolute():
            return Path(folder) / "agent-workbook" / "audit.jsonl"
    try:
        return Path.home() / ".local" / "state" / "agent-workbook" / "audit.jsonl"
    except RuntimeError:
        raise ConfigError(
            "You have no home directory, so there is no place for the audit. "
            "Name a file with --audit FILE."
        ) from None


# region: prepare
def prepare(place: Path, workspace: Path) -> Path:
    """Make sure that `place` can be written, and that it lies outside of `workspace`.

    Raises ConfigError, having left everything in the workspace as it was. A shell command can
    still change the file: the shell is no sandbox.
    """
    place = Path(os.path.abspath(place))  # noqa: PTH100 (a link as the last part is refused below)
    try:
        folder = place.parent.resolve()
        if is_inside(folder, workspace.resolve()):
            raise ConfigError(
                f"The audit {place} would lie in the workspace, where the agent could rewrite it. "
                "Name a file outside of it with --audit FILE."
            )
        place = folder / place.name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(place) and not stat.S_ISREG(place.lstat().st_mode):
            raise ConfigError(f"The audit {place} is no file. Name another one with --audit FILE.")
        place.touch(mode=0o600)  # for nobody else to read: it holds what was written and run
        with place.open("ab") as file:
            _keep_from_others(place, file.fileno())
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or (
            "its folder is a link that leads back to itself"  # what a RuntimeError is about
            if isinstance(error, RuntimeError)
            else "no file can be called that"
        )
        raise ConfigError(
            f"The audit {shorten(str(place), 200)} cannot be written: {reason}. What cannot be "
            "written down is not run. Name another file with --audit FILE."
        ) from None
    return place


def _keep_from_others(place: Path, descriptor: int) -> None:
    """Take an audit that was there already away from all users but its owner."""
    if sys.platform == "win32" or not os.fstat(descriptor).st_mode & 0o077:
        return
    try:
        os.fchmod(descriptor, 0o600)
    except PermissionError:
        raise ConfigError(
            f"The audit {place} can be read by others, and it is not yours, so that cannot be "
            "changed. Name another file with --audit FILE."
        ) from None


def is_inside(path: Path, workspace: Path) -> bool:
    """True if `workspace` is `path` or above it, however either of them is spelled."""
    return any(
        above == workspace or (above.exists() and above.samefile(workspace))
        for above in (path, *path.parents)
    )


# endregion: prepare
