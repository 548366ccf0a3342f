"""Which provider is chosen, and which of the variables are meant for it.

A variable may stand under the provider's own name, WORKBOOK_DEEPSEEK_API_KEY, or be plain,
WORKBOOK_API_KEY. A key must not end up with a provider that it is not for, so address and key
always come from one of these two sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches

from shared.env_file import PREFIX
from shared.errors import ConfigError
from shared.key_shape import looks_like_a_key
from shared.setting import (
    API_KEY,
    BASE_URL,
    ENVIRONMENT,
    MODEL_OPTION,
    PROVIDER,
    PROVIDER_OPTION,
    Found,
    KnownProvider,
    Providers,
    is_set,
    own_prefix,
    wrong,
)


@dataclass(frozen=True, slots=True)
class Choice:
    """A provider, and how its variables begin.

    `prefix` is for address and key, `prefixes` are for all else, the first that is set counts.
    """

    provider: str
    said_by: str
    known: KnownProvider
    prefix: str
    prefixes: tuple[str, ...]

    @property
    def url_variable(self) -> str:
        """The variable that holds the address, if one does."""
        return f"{self.prefix}BASE_URL"

    @property
    def key_variable(self) -> str:
        """The variable that holds the key."""
        return f"{self.prefix}API_KEY"

    def model_variable(self, found: Found) -> str:
        """The variable, or option, that holds the model; where it should be if nothing does."""
        if MODEL_OPTION in found:
            return MODEL_OPTION
        return self.variable(found, "MODEL") or f"{self.prefix}MODEL"

    def variable(self, found: Found, what: str) -> str | None:
        """The variable that says `what`, or None."""
        names = (f"{prefix}{what}" for prefix in self.prefixes)
        return next((name for name in names if is_set(found, name)), None)


# region: choose
def choose(found: Found, providers: Providers) -> Choice:
    """The provider that the option names, or else the variable. Raises ConfigError for no name."""
    said_by = PROVIDER_OPTION if PROVIDER_OPTION in found else PROVIDER
    name = found[said_by].value.strip()
    if name not in providers:
        close = get_close_matches(name.lower(), providers, n=1)
        hint = f"Did you mean {close[0]}? " if close else ""
        valid = ", ".join(providers)
        if said_by == PROVIDER_OPTION and not looks_like_a_key(name):
            raise ConfigError(f"{said_by}: there is no provider {name!r}. {hint}Valid: {valid}.")
        raise wrong(said_by, found, f"is none that the workbook knows. {hint}Valid: {valid}.")
    own = own_prefix(name)
    prefix = own if _stands_alone(found, name, providers[name]) else PREFIX
    # Plain variables that belong to another provider say nothing about this one.
    shared = prefix == PREFIX or not is_set(found, PROVIDER) or _names(found, name)
    return Choice(name, said_by, providers[name], prefix, (own, PREFIX) if shared else (own,))


def _stands_alone(found: Found, name: str, known: KnownProvider) -> bool:
    """Whether address and key stand under the provider's own name, or have to."""
    own = own_prefix(name)
    if is_set(found, f"{own}API_KEY") or is_set(found, f"{own}BASE_URL"):
        return True
    if is_set(found, API_KEY) and is_set(found, BASE_URL):
        return False  # the two belong together, whoever is asked there
    if not _names(found, name):
        return True
    # The known address of a provider is for the key that was meant for it.
    meant = found[PROVIDER].source != ENVIRONMENT or not is_set(found, API_KEY)
    return known.base_url is not None and not meant and found[API_KEY].file is not None


def _names(found: Found, name: str) -> bool:
    return is_set(found, PROVIDER) and found[PROVIDER].value.strip() == name


# endregion: choose


def own_keys(found: Found, providers: Providers) -> list[str]:
    """The providers that have a key under their own name."""
    return [name for name in providers if is_set(found, f"{own_prefix(name)}API_KEY")]


def missing(found: Found, choice: Choice) -> list[str]:
    """The variables without which the provider cannot be asked."""
    needed = [choice.key_variable, choice.model_variable(found)]
    if choice.known.base_url is None:
        needed.insert(0, choice.url_variable)
    return [name for name in needed if name.startswith(PREFIX) and not is_set(found, name)]


def why_not_plain(found: Found, choice: Choice) -> str:
    """Why a plain variable that is set does not do; "" if there is none."""
    if choice.prefix == PREFIX:
        return ""
    address = choice.known.base_url
    if not is_set(found, choice.key_variable) and is_set(found, API_KEY):
        elsewhere = is_set(found, choice.url_variable) or address is None
        if elsewhere and is_set(found, BASE_URL):
            return f"{API_KEY} is set, but that key is for {BASE_URL} only."
        there = "there" if elsewhere else f"to {address}"
        return (
            f"{API_KEY} is set, but nothing beside it says that it is for {choice.provider}, so it "
            f"is not sent {there}."
        )
    if address is None and is_set(found, BASE_URL):
        return f"{BASE_URL} is set, but {choice.key_variable} is not sent there."
    return ""
