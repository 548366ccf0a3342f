"""Console transcripts for the text: what a command prints, without what only this run prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from labs.desk.book import WORK_VARIABLE, DeskError

SECONDS = 120
FIRST = 7  # of the words of a lab: every transcript begins with harbor-4711
PROGRAMS = {
    "workbook": ("-c", "from labs.cli import main; main()"),
    "pytest": ("-m", "pytest", "-p", "no:cacheprovider"),
    "python": (),
}


def run_commands(
    root: Path, commands: Sequence[str], *, code: int = 0, says: str | None = None
) -> str:
    """Run the commands one after another in `root` and return them with their output.

    Each must be `workbook`, `pytest` or `python`; the last one must end with exit code `code` and
    the others with 0. They find no work of a reader's, no provider, no colours, 80 columns; `says`
    is what they read from their input. Raises DeskError if one does not end as expected.
    """
    blocks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="workbook-docs-") as folder:
        work = Path(folder) / "work"
        for number, command in enumerate(commands, start=1):
            words = shlex.split(command)
            if not words or words[0] not in PROGRAMS:
                raise DeskError(f"{command!r}: only {', '.join(PROGRAMS)} can be shown")
            done = subprocess.run(
                [sys.executable, *PROGRAMS[words[0]], *words[1:]],
                cwd=root,
                env=environment(work),
                input=says or "",
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
            expected = code if number == len(commands) else 0
            output = settle(done.stdout, root, work)
            if done.returncode != expected:
                raise DeskError(
                    f"`{command}` ended with {done.returncode}, not {expected}:\n{output}"
                )
            blocks.append(f"$ {command}\n{output}".rstrip())
    return "\n\n".join(blocks) if len(blocks) > 1 else blocks[0]


def environment(work: Path) -> Mapping[str, str]:
    """The environment of a shown command: the same for everybody, and nothing private in it."""
    kept = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR", "HOME", "USERPROFILE", "VIRTUAL_ENV")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "NO_COLOR": "1",
        "COLUMNS": "80",
        "LINES": "24",
        "PYTHONHASHSEED": "0",
        "PYTHONIOENCODING": "utf-8",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        WORK_VARIABLE: str(work),
    }


def settle(output: str, root: Path, work: Path) -> str:
    """The output with everything replaced that differs between two runs or two machines."""
    for folder, shown in ((work, "work"), (root, "~/agent-workbook"), (Path.home(), "~")):
        for spelling in {str(folder), folder.as_posix(), str(folder.resolve())}:
            if len(spelling) > 1:
                output = re.sub(rf"{re.escape(spelling)}(?![\w-])", shown, output)
    temporary = re.escape(tempfile.gettempdir())
    for pattern, replacement in (
        (rf"{temporary}[/\\][\w.-]+", "/tmp/workspace"),
        (r"\b0x[0-9a-f]{6,}\b", "0x…"),
        (r"\bpid[ =]\d+\b", "pid 4711"),
        # What a lab waits before it sends a request again is said by its script, not by a clock.
        (r"(?<!sent again )\b(in|after) \d+(?:\.\d+)? ?m?s\b(?: \([\d:]+\))?", r"\1 0.1s"),
        (r"\b\d+\.\d+ seconds\b", "0.1 seconds"),
        (r"\b[\d,]+ swaps\b", "… swaps"),
        (r"(\bcompare, open: .*), [\d,]+ leaks\b", r"\1, … leaks"),
        (r"\b(Python|pytest|pluggy|rich|click|openai|pydantic)([ =-]+)\d+(?:\.\d+)+\b", r"\1\2x.y"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?Z?", "2030-01-01 12:00"),
    ):
        output = re.sub(pattern, replacement, output)
    return _same_words("\n".join(line.rstrip() for line in output.strip("\n").splitlines()))


def _same_words(output: str) -> str:
    """The random words of a lab, `amber-4821`, replaced by the same ones in every transcript."""
    from labs.experiment import WORDS

    fixed = (f"{WORDS[(FIRST + n) % len(WORDS)]}-{4711 + n}" for n in count())
    names: dict[str, str] = {}

    def rename(match: re.Match[str]) -> str:
        if match.group() not in names:
            names[match.group()] = next(fixed)
        return names[match.group()]

    return re.sub(rf"\b(?:{'|'.join(WORDS)})-\d{{4}}\b", rename, output)
