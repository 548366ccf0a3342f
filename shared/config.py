"""Which model to talk to: settings from a `.env` file or the environment.

Nothing has a default but the address of a provider that has only one. A setting that is missing or
malformed is one message that names the variable, the place it came from, and what to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shared.choice import Choice, choose, missing, own_keys, why_not_plain
from shared.env_file import PREFIX, read_env_file
from shared.errors import ConfigError
from shared.key_shape import safe_name
from shared.overrides import overrides_of, overriding
from shared.setting import (
    API_KEY,
    BASE_URL,
    ENVIRONMENT,
    MODEL,
    MODEL_OPTION,
    ONLY_OPENAI,
    PROVIDER,
    PROVIDER_OPTION,
    VARIABLES,
    Found,
    KnownProvider,
    Providers,
    Setting,
    is_set,
    nearest,
    variables_of,
)
from shared.setting_values import HUMAN, api_key, base_url, model, without_placeholder

__all__ = [
    "API_KEY",
    "BASE_URL",
    "HUMAN",
    "MODEL",
    "PROVIDER",
    "VARIABLES",
    "KnownProvider",
    "Setting",
    "Settings",
    "check_settings",
    "find_settings",
    "load_settings",
    "no_variable",
    "variables_of",
]


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything needed to reach a model. The key never shows in a repr.

    `source` is where the address was said, `prefix` how its variable and that of the key begin,
    `overrides` the fields of the provider's record that are set, and `variables` what set each of
    them. `unknown` are remarks about variables that mean nothing.
    """

    provider: str
    base_url: str
    api_key: str = field(repr=False)
    model: str
    source: str = field(default="", compare=False)
    prefix: str = field(default=PREFIX, compare=False)
    overrides: Mapping[str, object] = field(default_factory=dict, repr=False)
    variables: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    unknown: tuple[str, ...] = field(default=(), compare=False)


# region: load
def load_settings(
    environ: Mapping[str, str],
    cwd: Path,
    workbook_root: Path,
    *,
    provider: str | None = None,
    model: str | None = None,
    providers: Providers = ONLY_OPENAI,
) -> Settings | None:
    """The settings, or None if nothing is configured at all.

    `provider` and `model` take the place of WORKBOOK_PROVIDER and WORKBOOK_MODEL. Raises
    ConfigError for what is missing or malformed.
    """
    found = find_settings(environ, cwd, workbook_root, provider=provider, providers=providers)
    if not found:
        return None
    if model is not None:
        found[MODEL_OPTION] = Setting(model, MODEL_OPTION)
    return check_settings(found, workbook_root, providers=providers)


def find_settings(
    environ: Mapping[str, str],
    cwd: Path,
    workbook_root: Path,
    *,
    provider: str | None = None,
    providers: Providers = ONLY_OPENAI,
) -> dict[str, Setting]:
    """Every WORKBOOK_ variable that is set, unchecked, with its source.

    The `.env` of the current directory counts, or else the workbook's own: the first that holds
    such a variable. Variables of the environment that are not empty override single values; of
    those that mean nothing, the ones that look misspelt are among them. `provider` is added under
    the name of its option.
    """
    known = variables_of(providers)
    found = {
        name: Setting(value, ENVIRONMENT)
        for name, value in environ.items()
        if value and name.startswith(PREFIX) and (name in known or nearest(name, known))
    }
    if not (found.keys() >= set(VARIABLES) and provider in (None, environ[PROVIDER])):
        found = _from_files(cwd, workbook_root) | found
    if provider is not None:
        found[PROVIDER_OPTION] = Setting(provider, PROVIDER_OPTION)
    return found


def _from_files(cwd: Path, workbook_root: Path) -> dict[str, Setting]:
    for folder in dict.fromkeys((cwd, workbook_root)):
        file = folder / ".env"
        values = read_env_file(file)
        if values:
            return {name: Setting(value, str(file), file) for name, value in values.items()}
    return {}


# endregion: load


# region: check
def check_settings(
    found: Found, workbook_root: Path, *, providers: Providers = ONLY_OPENAI
) -> Settings:
    """The settings, each of them checked; ConfigError for the first thing that is wrong."""
    unknown = _unknown(found, providers)
    if PROVIDER_OPTION not in found and not is_set(found, PROVIDER):
        if (names := own_keys(found, providers)) and not is_set(found, API_KEY):
            raise _not_chosen(names, found)
        without = [name for name in VARIABLES if not is_set(found, name)]
        raise _not_set(without, found, workbook_root, unknown)
    choice = choose(found, providers)
    if without := missing(found, choice):
        remarks = (why_not_plain(found, choice), *unknown)
        raise _not_set(without, found, workbook_root, remarks)
    _check_key_stays_home(found, choice, workbook_root)
    url, key = choice.url_variable, choice.key_variable
    named = choice.model_variable(found)
    for name in filter(found.__contains__, (url, key, named)):
        without_placeholder(name, found)
    address = choice.known.base_url or ""
    return Settings(
        provider=choice.provider,
        base_url=base_url(url, found, key) if is_set(found, url) else address,
        api_key=api_key(key, found),
        model=model(named, found, key),
        source=found[url if is_set(found, url) else choice.said_by].source,
        prefix=choice.prefix,
        overrides=overrides_of(found, choice),
        variables=overriding(found, choice),
        unknown=unknown,
    )


def _not_chosen(names: list[str], found: Found) -> ConfigError:
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    where = "Your .env" if any(setting.file for setting in found.values()) else ENVIRONMENT
    return ConfigError(
        f"{where[0].upper()}{where[1:]} has {listed}. Choose {'it' if len(names) == 1 else 'one'}: "
        f"{PROVIDER_OPTION} {names[0]}, or {PROVIDER}={names[0]}."
    )


def _not_set(
    names: list[str], found: Found, workbook_root: Path, remarks: Iterable[str]
) -> ConfigError:
    file = next((setting.file for setting in found.values() if setting.file), None)
    listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    remark = next((f" ({remark})" for remark in remarks if remark), "")
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return ConfigError(
        f"{listed} {are} not set. Add {them} to {file or workbook_root / '.env'}, or to the "
        f"environment; .env.example shows working values.{remark}"
    )


def no_variable(name: str, known: frozenset[str]) -> str:
    """What to say of a variable that means nothing, and which one may be meant."""
    near = nearest(name, known) if safe_name(name) == name else None
    return f"is no variable of the workbook{f'; {near} is one' if near else ''}"


def _unknown(found: Found, providers: Providers) -> tuple[str, ...]:
    known = variables_of(providers)
    names = sorted(name for name in found if name.startswith(PREFIX) and name not in known)
    return tuple(
        [f"{safe_name(name)} is set, but it {no_variable(name, known)}." for name in names]
    )


def _check_key_stays_home(found: Found, choice: Choice, workbook_root: Path) -> None:
    """A directory you happen to stand in must not choose where your key is sent."""
    decisive = choice.url_variable if is_set(found, choice.url_variable) else PROVIDER
    if decisive == PROVIDER and choice.prefix != PREFIX:
        return  # a key that is named for a provider goes to the address that is known for it
    address = found[decisive]
    if address.file in (None, workbook_root / ".env"):
        return
    said = overriding(found, choice)
    # A gateway wants its secret in a header or in the body, so these go where the key goes.
    for name in (choice.key_variable, said.get("headers"), said.get("extra_body")):
        if name is None or found[name].source == address.source:
            continue
        raise ConfigError(
            f"{decisive} comes from {address.source}, but {name} from {found[name].source}. A .env "
            "of another folder could send your key anywhere, so the two must come from one place. "
            f"If you trust what it says, set {decisive} in {found[name].source} too."
        )


# endregion: check
