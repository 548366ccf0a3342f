"""Which model to talk to: four settings from a `.env` file or the environment.

Nothing has a default. A setting that is missing or malformed is one message that names the
variable, the place it came from, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from shared.env_file import PREFIX, read_env_file
from shared.errors import ConfigError
from shared.key_shape import looks_like_a_key, safe_name

PROVIDER = "WORKBOOK_PROVIDER"
BASE_URL = "WORKBOOK_BASE_URL"
API_KEY = "WORKBOOK_API_KEY"
MODEL = "WORKBOOK_MODEL"
VARIABLES = (PROVIDER, BASE_URL, API_KEY, MODEL)

PROVIDERS = {"openai": "OpenAI Chat Completions, or any server that speaks it"}
HUMAN = "human"  # the name of the model that is you: `--model human`
PLACEHOLDER = re.compile(r"put-your-.*-here")

ENVIRONMENT = "the environment"
OPTION = "--model"


@dataclass(frozen=True, slots=True)
class Setting:
    """One value and where it came from. The value never shows in a repr: it may be the key."""

    value: str = field(repr=False)
    source: str
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything needed to reach a model. The key never shows in a repr."""

    provider: str
    base_url: str
    api_key: str = field(repr=False)
    model: str
    source: str = field(default="", compare=False)  # of the address: where your words will go


# region: load
def load_settings(
    environ: Mapping[str, str], cwd: Path, workbook_root: Path, *, model: str | None = None
) -> Settings | None:
    """The settings, or None if nothing is configured at all.

    `model` takes the place of WORKBOOK_MODEL. Raises ConfigError for what is missing or malformed.
    """
    found = find_settings(environ, cwd, workbook_root)
    if not found:
        return None
    if model is not None:
        found[MODEL] = Setting(model, OPTION)
    return check_settings(found, cwd, workbook_root)


def find_settings(environ: Mapping[str, str], cwd: Path, workbook_root: Path) -> dict[str, Setting]:
    """Every WORKBOOK_ variable that is set, unchecked, with its source.

    The `.env` of the current directory counts, or else the workbook's own: the first that holds
    such a variable. Variables of the environment that are not empty override single values.
    """
    from_environment = {
        name: Setting(environ[name], ENVIRONMENT) for name in VARIABLES if environ.get(name)
    }
    if len(from_environment) == len(VARIABLES):
        return from_environment  # nothing a file says would matter, so none is opened
    return _from_files(cwd, workbook_root) | from_environment


def _from_files(cwd: Path, workbook_root: Path) -> dict[str, Setting]:
    for folder in dict.fromkeys((cwd, workbook_root)):
        file = folder / ".env"
        values = read_env_file(file)
        if values:
            return {name: Setting(value, str(file), file) for name, value in values.items()}
    return {}


# endregion: load


# region: check
def check_settings(found: Mapping[str, Setting], cwd: Path, workbook_root: Path) -> Settings:
    """The settings, each of them checked; ConfigError for the first thing that is wrong."""
    _check_complete(found, workbook_root)
    _check_key_stays_home(found, cwd, workbook_root)
    for name in VARIABLES:
        if PLACEHOLDER.search(found[name].value):
            raise _wrong(name, found, "still holds the placeholder. Put your own value there.")
    return Settings(
        provider=_provider(found),
        base_url=_base_url(found),
        api_key=_api_key(found),
        model=_model(found),
        source=found[BASE_URL].source,
    )


def _check_complete(found: Mapping[str, Setting], workbook_root: Path) -> None:
    missing = [name for name in VARIABLES if name not in found or not found[name].value.strip()]
    if not missing:
        return
    file = next((setting.file for setting in found.values() if setting.file), None)
    where = file or workbook_root / ".env"
    names = " and ".join(filter(None, [", ".join(missing[:-1]), missing[-1]]))
    message = (
        f"{names} {'is' if len(missing) == 1 else 'are'} not set. "
        f"Add {'it' if len(missing) == 1 else 'them'} to {where}, or to the environment; "
        ".env.example shows working values."
    )
    unknown = sorted(name for name in found if name.startswith(PREFIX) and name not in VARIABLES)
    if unknown:
        message += f" ({safe_name(unknown[0])} is set, but it is no variable of the workbook.)"
    raise ConfigError(message)


def _check_key_stays_home(found: Mapping[str, Setting], cwd: Path, workbook_root: Path) -> None:
    """A directory you happen to stand in must not choose where your key is sent."""
    url, key = found[BASE_URL], found[API_KEY]
    if url.file == workbook_root / ".env" or url.source == key.source:
        return
    if url.file is not None:
        raise ConfigError(
            f"{BASE_URL} comes from {url.source}, but {API_KEY} from {key.source}. A .env of "
            "another folder could send your key anywhere, so the two must come from one place. "
            f"If you trust this address, set {BASE_URL} in {key.source} too."
        )


def _provider(found: Mapping[str, Setting]) -> str:
    provider = found[PROVIDER].value.strip()
    if provider not in PROVIDERS:
        valid = "; ".join(f"{name} ({what})" for name, what in PROVIDERS.items())
        raise _wrong(PROVIDER, found, f"is none that the workbook knows. Valid: {valid}.")
    return provider


def _base_url(found: Mapping[str, Setting]) -> str:
    url = found[BASE_URL].value.strip()
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port  # an impossible port raises here
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if parts.scheme not in ("http", "https") or not host or not url.isprintable() or " " in url:
        raise _wrong(
            BASE_URL, found, "is not an address. It looks like https://api.example.com/v1."
        )
    if port == 0:
        raise _wrong(BASE_URL, found, "has port 0, where no server can be. Write its real port.")
    if parts.username or parts.password:
        raise _wrong(BASE_URL, found, f"holds a user name. Credentials belong into {API_KEY}.")
    if parts.query or parts.fragment:
        raise _wrong(BASE_URL, found, "must end before the ? or #.")
    if parts.path.rstrip("/").endswith("/chat/completions"):
        raise _wrong(BASE_URL, found, "must end before /chat/completions: the client adds that.")
    return url


def _api_key(found: Mapping[str, Setting]) -> str:
    key = found[API_KEY].value
    if not re.fullmatch(r"[!-~]+", key):
        raise _wrong(
            API_KEY,
            found,
            "holds a space, a line break or a character that no key has. Copy the key again, "
            "without anything before or after it.",
        )
    return key


def _model(found: Mapping[str, Setting]) -> str:
    model = found[MODEL].value.strip()
    if looks_like_a_key(model) or (len(model) >= 16 and model == found[API_KEY].value):
        raise _wrong(
            MODEL,
            found,
            f"holds what looks like a key. A key belongs into {API_KEY}; the name of a model is "
            "in the provider's list of models.",
        )
    if not model.isprintable():
        raise _wrong(MODEL, found, "holds a character that no model name has. Write it again.")
    if model == HUMAN and found[MODEL].source != OPTION:
        raise _wrong(MODEL, found, "is 'human', which works as --model human only.")
    return model


def _wrong(name: str, found: Mapping[str, Setting], what: str) -> ConfigError:
    source = found[name].source
    place = OPTION if source == OPTION else f"{name} in {source}"
    return ConfigError(f"{place} {what}")


# endregion: check
