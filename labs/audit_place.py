"""Where the audit of a run is kept: outside the workspace, where no file tool can rewrite it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from shared.errors import ConfigError


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
    folder = place.parent.resolve()
    if is_inside(folder, workspace.resolve()):
        raise ConfigError(
            f"The audit {place} would lie in the workspace, where the agent could rewrite it. "
            "Name a file outside of it with --audit FILE."
        )
    place = folder / place.name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.path.lexists(place) and not stat.S_ISREG(place.lstat().st_mode):
            raise ConfigError(f"The audit {place} is no file. Name another one with --audit FILE.")
        place.touch(mode=0o600)  # for nobody else to read: it holds what was written and run
        with place.open("ab"):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ConfigError(
            f"The audit {place} cannot be written: {reason}. What cannot be written down is not "
            "run. Name another file with --audit FILE."
        ) from None
    return place


def is_inside(path: Path, workspace: Path) -> bool:
    """True if `workspace` is `path` or above it, however either of them is spelled."""
    return any(
        above == workspace or (above.exists() and above.samefile(workspace))
        for above in (path, *path.parents)
    )


# endregion: prepare
