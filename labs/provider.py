"""The provider that is configured, or what to do if none is."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import get_type_hints

from labs.packages import ROOT
from shared.config import HUMAN, KnownProvider, Settings, load_settings
from shared.errors import ConfigError

# What a name stands for, and what has a variable of its own.
NOT_TO_OVERRIDE = frozenset({"name", "api", "about", "base_url", "ids"})


def configured(
    *, provider: str | None = None, model: str | None = None, chapter: int = 2
) -> Settings:
    """The settings; `provider` and `model` take the place of their variables. Raises ConfigError.

    `chapter` is for the examples in the message that says how to go on without a provider.
    """
    settings = load_settings(
        os.environ,
        Path.cwd(),
        ROOT,
        provider=provider,
        model=model,
        providers=known_providers(),
    )
    if settings is None:
        raise ConfigError(three_ways_on(chapter))
    return settings


@cache
def known_providers() -> dict[str, KnownProvider]:
    """Every provider that can be chosen, by its name."""
    from chapters.ch04.known_servers import KNOWN
    from chapters.ch04.provider import Provider, not_its_own

    types = get_type_hints(Provider)
    fields = {name: kind for name, kind in types.items() if name not in NOT_TO_OVERRIDE}
    return {
        name: KnownProvider(provider.about, provider.base_url, fields, not_its_own)
        for name, provider in KNOWN.items()
    }


def model_up_to(chapter: int) -> str:
    """What can be the model of a chapter's agent, on one line."""
    from labs.catalog import chapter_numbers, profile_of
    from labs.onion import ANY_MODEL

    numbers = [number for number in chapter_numbers() if number <= chapter]
    can = profile_of(numbers[-1]).capabilities if numbers else ()
    if "providers" not in can:
        return ANY_MODEL
    if "streaming" in can:
        return "any provider; its replies stream; or a script, or you"
    return f"any provider: {', '.join(known_providers())}; or a script, or you"


def remarks(settings: Settings) -> tuple[str, ...]:
    """What of the settings changes nothing, a sentence for each."""
    from chapters.ch04.known_servers import KNOWN
    from chapters.ch04.which_field import WITHOUT_EFFECT

    provider = KNOWN[settings.provider]
    limit = settings.overrides.get("max_tokens", provider.max_tokens)
    found = list(settings.unknown)
    for name, variable in settings.variables.items():
        if name in WITHOUT_EFFECT[provider.api]:
            found.append(
                f"{variable} has no effect: nothing in a request to {provider.name} depends on it."
            )
        elif name == "token_limit_key" and limit is None:
            found.append(f"{variable} has no effect without {settings.prefix}MAX_TOKENS.")
    return tuple(found)


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
