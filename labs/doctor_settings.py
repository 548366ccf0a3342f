"""What the doctor says of the settings: whom they choose, and what is in the way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api
from labs.doctor import GEMINI, INSTALL_GEMINI, Finding, Status
from labs.provider import known_providers, remarks
from shared.config import (
    Setting,
    Settings,
    check_settings,
    find_settings,
    no_variable,
    variables_of,
)
from shared.env_file import PREFIX
from shared.errors import ConfigError
from shared.key_shape import safe_name


def about_settings(
    root: Path, provider: str | None, *, gemini: bool, live: bool = False
) -> Iterator[Finding]:
    """The findings, none of which repeats what somebody has set.

    `provider` takes the place of WORKBOOK_PROVIDER; `gemini` says whether its client is there, and
    `live` whether the settings are tried next.
    """
    providers = known_providers()
    try:
        found = find_settings(os.environ, Path.cwd(), root, provider=provider, providers=providers)
    except ConfigError as error:
        yield Finding("settings", Status.BAD, str(error))
        return
    if not found:
        yield Finding(
            "settings",
            Status.NOTE,
            "No provider is configured. The labs and the tests need none; for your own tasks copy "
            f"{root / '.env.example'} to .env and fill in one block.",
        )
        return
    yield from _variables(found, variables_of(providers))
    try:
        settings = check_settings(found, root, providers=providers)
    except ConfigError as error:
        yield Finding("settings", Status.BAD, str(error))
        return
    yield _chosen(settings)
    for remark in remarks(settings)[len(settings.unknown) :]:  # those are said above, one by one
        yield Finding("fields", Status.NOTE, remark)
    yield _in_all(settings, gemini=gemini, live=live)


def _variables(found: dict[str, Setting], known: frozenset[str]) -> Iterator[Finding]:
    for name in sorted(found):
        text = f"set in {found[name].source}"
        if name in known:
            yield Finding(name, Status.OK, text)
        elif name.startswith(PREFIX):  # an option of the command line is a setting, too
            yield Finding(
                safe_name(name), Status.NOTE, f"{text}, but it {no_variable(name, known)}"
            )


def _chosen(settings: Settings) -> Finding:
    known = KNOWN[settings.provider]
    there = known.base_url
    if there is None or there != settings.base_url:
        there = f"the address in {settings.prefix}BASE_URL"
    text = f"{settings.provider} ({known.about}), at {there}"
    if settings.overrides:
        text += f"; with your own {', '.join(sorted(settings.overrides))}"
    return Finding("provider", Status.OK, text)


def _in_all(settings: Settings, *, gemini: bool, live: bool) -> Finding:
    if KNOWN[settings.provider].api is Api.GEMINI and not gemini:
        text = f"Gemini is chosen, but {GEMINI} is not installed. {INSTALL_GEMINI}"
        return Finding("settings", Status.BAD, text)
    if settings.base_url.startswith("http:") and not _is_near(settings.base_url):
        text = "begins with http: your key and your files travel unencrypted."
        return Finding("settings", Status.NOTE, f"{settings.prefix}BASE_URL {text}")
    tries = "" if live else "; `workbook doctor --live` tries them"
    return Finding("settings", Status.OK, f"complete{tries}")


def _is_near(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
