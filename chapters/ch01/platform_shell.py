"""The shell of this machine: bash or sh, PowerShell on Windows."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# PowerShell speaks the console's code page unless told, and answers 1 for every failure.
POWERSHELL_COMMAND = """\
$OutputEncoding = [Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false
{command}
if (-not $?) {{ if ($LASTEXITCODE) {{ exit $LASTEXITCODE }} else {{ exit 1 }} }}
"""


# region: shell
@dataclass(frozen=True, slots=True)
class Shell:
    """A program that runs command lines: `bash`, `sh`, `pwsh` or `powershell`, and where it is."""

    name: str
    path: str

    def arguments(self, command: str) -> list[str]:
        """The argument list that makes this shell run `command` and nothing else."""
        if self.name in {"pwsh", "powershell"}:
            script = POWERSHELL_COMMAND.format(command=command)
            return [self.path, "-NoLogo", "-NoProfile", "-NonInteractive", "-Command", script]
        return [self.path, "-c", "--", command]  # `--`: a command may start with a dash


def find_shell(search_path: str | None = None) -> Shell | None:
    """The first shell there is, looked for along `search_path` (else PATH), then in usual places.

    None if there is none. A name that PATH leads to relative to the current directory is passed
    over: that directory may be the workspace, whose files are not to be trusted.
    """
    for name, place in _candidates(search_path):
        if place is not None and Path(place).is_absolute() and os.access(place, os.X_OK):
            return Shell(name, place)
    return None


# endregion: shell


def _candidates(search_path: str | None) -> Iterator[tuple[str, str | None]]:
    if sys.platform == "win32":
        yield "pwsh", shutil.which("pwsh", path=search_path)
        yield "powershell", shutil.which("powershell", path=search_path)
        system = os.environ.get("SYSTEMROOT", r"C:\Windows")
        yield "powershell", rf"{system}\System32\WindowsPowerShell\v1.0\powershell.exe"
    else:
        for name in ("bash", "sh"):
            yield name, shutil.which(name, path=search_path)
            yield name, f"/bin/{name}"
