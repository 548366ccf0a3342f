"""One setting: what it is called, its value, and the place that it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from shared.env_file import PREFIX
from shared.errors import ConfigError

PROVIDER = f"{PREFIX}PROVIDER"
BASE_URL = f"{PREFIX}BASE_URL"
API_KEY = f"{PREFIX}API_KEY"
MODEL = f"{PREFIX}MODEL"
VARIABLES = (PROVIDER, BASE_URL, API_KEY, MODEL)

# Options of the command line are settings too, and take the place of a variable.
PROVIDER_OPTION = "--provider"
MODEL_OPTION = "--model"
ENVIRONMENT = "the environment"


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it came from. The value never shows in a repr: it may be the key."""

    value: str = field(repr=False)
    source: str
    file: Path | None = None


Found = Mapping[str, Setting]


@dataclass(frozen=True, slots=True)
class KnownProvider:
    """What the settings have to know of a provider.

    `base_url` is None where one name stands for many servers. `fields` are the types of what else
    can be set for it, by name: `max_tokens` is set by WORKBOOK_MAX_TOKENS. `not_its_own` tells, of
    a field's name and a value for it, which keys the value may not hold.
    """

    about: str
    base_url: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    not_its_own: Callable[[str, object], Sequence[str]] = lambda name, value: ()


Providers = Mapping[str, KnownProvider]
ONLY_OPENAI = {"openai": KnownProvider("OpenAI Chat Completions, or any server that speaks it")}


def own_prefix(provider: str) -> str:
    """How the variables begin that are for one provider alone."""
    return f"{PREFIX}{provider.upper().replace('-', '_')}_"


def variables_of(providers: Providers) -> frozenset[str]:
    """The names of all variables that mean something."""
    names = {PROVIDER}
    for provider, known in providers.items():
        for prefix in (PREFIX, own_prefix(provider)):
            names |= {f"{prefix}{what}" for what in ("BASE_URL", "API_KEY", "MODEL")}
            names |= {f"{prefix}{field_name.upper()}" for field_name in known.fields}
    return frozenset(names)


def nearest(name: str, known: frozenset[str]) -> str | None:
    """The variable that a misspelt name may be meant for, or None."""
    rests = sorted(each.removeprefix(PREFIX) for each in known)
    close = get_close_matches(name.removeprefix(PREFIX), rests, n=1, cutoff=0.75)
    return f"{PREFIX}{close[0]}" if close else None


def is_set(found: Found, name: str) -> bool:
    """True if there is such a setting; an empty one is none."""
    return name in found and bool(found[name].value.strip())


def wrong(name: str, found: Found, what: str) -> ConfigError:
    """The error for a value: its name, its place, what is wrong with it. Never the value."""
    source = found[name].source
    return ConfigError(f"{name if name == source else f'{name} in {source}'} {what}")
