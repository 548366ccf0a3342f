"""Running `workbook` in a test: in this process for speed, in one of its own where that matters."""

from __future__ import annotations

import io
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from labs.cli import main
from shared.config import API_KEY, BASE_URL, MODEL, PROVIDER

ROOT = Path(__file__).resolve().parent.parent
KEY = "sk-a-secret-key-of-the-tests"


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a command line."""

    exit: int
    out: str
    err: str


class Workbook:
    """A reader at a prompt, who stands in `here` and has nothing configured."""

    def __init__(
        self, here: Path, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[str]
    ) -> None:
        self.here = here
        self._monkeypatch = monkeypatch
        self._capture = capture
        for name in [name for name in os.environ if name.startswith("WORKBOOK_")]:
            monkeypatch.delenv(name)
        for name in ("COLUMNS", "NO_COLOR"):
            monkeypatch.delenv(name, raising=False)
        # The audit of the person who runs the tests is theirs, too.
        self.state = here.with_name(f"{here.name}-state")
        monkeypatch.setenv("XDG_STATE_HOME", str(self.state))
        monkeypatch.chdir(here)
        # The .env of the person who runs the tests is theirs.
        for module in ("labs.provider", "labs.doctor"):
            __import__(module)
            monkeypatch.setattr(f"{module}.ROOT", here / "no-such-workbook")

    def configure(self, base_url: str, **other: str) -> None:
        """Set the four variables in the environment."""
        for name, value in settings(base_url).items():
            self._monkeypatch.setenv(name, other.get(name, value))

    def __call__(self, *words: str, typed: str | bytes = "") -> Ended:
        """Type `workbook` and these words; `typed` is what comes through standard input."""
        return self._run(lambda: main(words, standalone_mode=False), typed)

    def module(self, module: str, *words: str, typed: str | bytes = "") -> Ended:
        """Type `python -m MODULE` and these words."""

        def run() -> int:
            self._monkeypatch.setattr(sys, "argv", [module, *words])
            with pytest.raises(SystemExit) as end:
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            return int(end.value.code or 0)

        return self._run(run, typed)

    def _run(self, program: Callable[[], int], typed: str | bytes) -> Ended:
        reading, writing = os.pipe()
        with os.fdopen(writing, "wb") as keyboard:
            keyboard.write(typed.encode() if isinstance(typed, str) else typed)
        self._capture.readouterr()
        with io.TextIOWrapper(os.fdopen(reading, "rb"), encoding="utf-8") as stdin:
            self._monkeypatch.setattr(sys, "stdin", stdin)
            code = program()
        shown = self._capture.readouterr()
        return Ended(code, shown.out, shown.err)


def settings(base_url: str) -> dict[str, str]:
    """The four variables for a server at `base_url`."""
    return {PROVIDER: "openai", BASE_URL: base_url, API_KEY: KEY, MODEL: "a-model"}


def environment(**extra: str) -> dict[str, str]:
    """The environment of a process of its own: this one without settings, and `extra`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WORKBOOK_")}
    return kept | {"PYTHONPATH": str(ROOT)} | extra


def start(*words: str, here: Path, env: dict[str, str]) -> subprocess.Popen[str]:
    """Start `workbook` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from labs.cli import main; main()", *words],
        cwd=here,
        env=environment(**env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
