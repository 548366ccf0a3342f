"""Which record plays which row."""

from __future__ import annotations

from importlib.util import find_spec

from chapters.ch04.conformance.rows import Row
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Provider
from shared.errors import ConfigError

APIS = {
    "openai-chat": Api.CHAT,
    "openai-compat": Api.CHAT,
    "openai-responses": Api.RESPONSES,
    "anthropic": Api.ANTHROPIC,
    "gemini": Api.GEMINI,
}
OF_API = {
    Api.CHAT: KNOWN["openai"],
    Api.RESPONSES: KNOWN["openai-responses"],
    Api.ANTHROPIC: KNOWN["anthropic"],
    Api.GEMINI: KNOWN["gemini"],
}
PACKAGES = {Api.ANTHROPIC: "anthropic", Api.GEMINI: "google.genai"}


def api_of(row: Row) -> Api | None:
    """The API of a row, or None for one nobody here speaks. `-compat` is a server that imitates."""
    return APIS.get(row.api) or APIS.get(row.api.removesuffix("-compat"))


def chosen(adapter: str | None) -> Api | Provider | None:
    """What `--adapter` names: an API with all its rows, or one record. Raises ConfigError."""
    if adapter is None:
        return None
    if adapter in APIS:
        return APIS[adapter]
    if adapter in KNOWN:
        return KNOWN[adapter]
    names = ", ".join(dict.fromkeys([*OF_API, *KNOWN]))  # `-compat` is for rows, not for people
    raise ConfigError(f"There is no adapter {adapter!r}. There are: {names}.")


def record_of(row: Row, api: Api, choice: Api | Provider | None) -> Provider:
    """The record that plays a row: the one that was chosen, the row's own, or that of its API."""
    if isinstance(choice, Provider):
        return choice
    own = KNOWN.get(row.provider)
    return own if own and own.api is api else OF_API[api]


def missing_package(api: Api) -> str | None:
    """The package that a client of `api` comes in, if it is not installed."""
    package = PACKAGES.get(api, "openai")
    try:
        return None if find_spec(package) else package
    except ModuleNotFoundError:
        return package


def how_to_install(api: Api) -> str:
    """The command that brings the client of `api`."""
    return "pip install -e '.[gemini]'" if api is Api.GEMINI else "pip install -e ."
