"""The provider that is configured, or what to do if none is."""

from __future__ import annotations

import os
from pathlib import Path

from labs.packages import ROOT
from shared.config import HUMAN, Settings, load_settings
from shared.errors import ConfigError


def configured(*, model: str | None = None, chapter: int = 2) -> Settings:
    """The settings, with `model` in the place of WORKBOOK_MODEL. Raises ConfigError.

    `chapter` is for the examples in the message that says how to go on without a provider.
    """
    settings = load_settings(os.environ, Path.cwd(), ROOT, model=model)
    if settings is None:
        raise ConfigError(three_ways_on(chapter))
    return settings


def three_ways_on(chapter: int) -> str:
    """What a reader without a provider can do."""
    copy = "copy" if os.name == "nt" else "cp"
    example, file = _as_typed(ROOT / ".env.example"), _as_typed(ROOT / ".env")
    return f"""\
No provider is configured, so there is no model to ask. There are three ways on:

  1. Fill in a .env file, then check it with `workbook doctor --live`:
       {copy} {example} {file}
  2. Be the model yourself. You need no key:
       workbook run --chapter {chapter} --model {HUMAN} --prompt "list the files"
  3. Watch the agent work with a scripted model:
       workbook lab {chapter}"""


def _as_typed(path: Path) -> str:
    here = Path.cwd()
    shown = str(path.relative_to(here) if path.is_relative_to(here) else path)
    return f'"{shown}"' if " " in shown else shown
