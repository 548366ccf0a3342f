"""The doctor: looks at everything the workbook needs, and says in a sentence what it finds."""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from labs.packages import ROOT, explain, foreign_packages

NEEDED = {  # what is imported: what is installed
    "anthropic": "anthropic",
    "click": "click",
    "dotenv": "python-dotenv",
    "jsonschema": "jsonschema",
    "openai": "openai",
    "psutil": "psutil",
    "pydantic": "pydantic",
}
GEMINI = "google-genai"
INSTALL_GEMINI = "In the workbook's folder: pip install -e '.[gemini]'"
OLDEST_PYTHON = (3, 11)


class Status(StrEnum):
    """How a thing is: fine, worth knowing, or in the way."""

    OK = "ok"
    NOTE = "note"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was looked at, how it is, and a sentence about it."""

    name: str
    status: Status
    text: str


def examine(*, provider: str | None = None, live: bool = False) -> Iterator[Finding]:
    """Every finding that needs no network. Never holds a secret, an address or a model.

    `provider` takes the place of WORKBOOK_PROVIDER; `live` says that a request comes next.
    """
    yield _python()
    yield _packages()
    yield from _dependencies()
    yield _pytest()
    yield _gemini()
    if foreign_packages():
        return  # the rest is in those packages
    yield _shell()
    yield _files()
    yield from _settings(provider, live=live)
    yield from _terminal()


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return Finding("python", Status.BAD, f"{version}: {oldest} or newer is needed.")
    return Finding("python", Status.OK, f"{version}, {sys.executable}")


def _packages() -> Finding:
    if foreign := foreign_packages():
        return Finding("packages", Status.BAD, explain(foreign))
    return Finding("packages", Status.OK, f"shared, chapters and labs are those in {ROOT}")


def _dependencies() -> Iterator[Finding]:
    missing = [name for module, name in NEEDED.items() if find_spec(module) is None]
    if missing:
        text = f"Missing: {', '.join(missing)}. Install the workbook again: pip install -e {ROOT}"
        yield Finding("dependencies", Status.BAD, text)
        return
    yield Finding("dependencies", Status.OK, ", ".join(map(_version, NEEDED.values())))


def _pytest() -> Finding:
    if find_spec("pytest") is None:
        text = "Not installed, so `workbook test` cannot run. In the workbook's folder: "
        return Finding("pytest", Status.NOTE, text + "pip install -e '.[dev]'")
    return Finding("pytest", Status.OK, _version("pytest"))


def _version(distribution: str) -> str:
    try:
        return f"{distribution} {importlib.metadata.version(distribution)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{distribution} of an unknown version"


def _shell() -> Finding:
    from chapters.ch01.platform_shell import find_shell

    shell = find_shell()
    if shell is None:
        wanted = "PowerShell" if os.name == "nt" else "bash or sh"
        return Finding("shell", Status.BAD, f"No {wanted} found, so the shell tool cannot work.")
    return Finding("shell", Status.OK, f"{shell.name}, {shell.path}")


def _files() -> Finding:
    from chapters.ch02.workspace import can_walk

    if can_walk():
        text = "paths are walked on directory descriptors, so no race can lead outside"
        return Finding("files", Status.OK, text)
    text = (
        "This system has no directory descriptors. Paths are resolved and then opened, which "
        "somebody who swaps a folder for a link at that very moment can get past."
    )
    return Finding("files", Status.NOTE, text)


def _gemini() -> Finding:
    if _has_gemini():
        return Finding("gemini", Status.OK, _version(GEMINI))
    text = f"{GEMINI} is not installed, and only Gemini needs it. {INSTALL_GEMINI}"
    return Finding("gemini", Status.NOTE, text)


def _has_gemini() -> bool:
    try:
        return find_spec("google.genai") is not None
    except ModuleNotFoundError:  # no package of Google's at all
        return False


def _settings(provider: str | None, *, live: bool) -> Iterator[Finding]:
    from labs.doctor_settings import about_settings

    try:
        yield from about_settings(ROOT, provider, gemini=_has_gemini(), live=live)
    except ModuleNotFoundError as error:  # said above, with what to do
        yield Finding("settings", Status.NOTE, f"Not checked: {error.name} is missing.")


def _terminal() -> Iterator[Finding]:
    from shared.screen import Screen

    for name, stream in (("input", sys.stdin), ("output", sys.stdout), ("messages", sys.stderr)):
        if stream is None or not stream.isatty():
            yield Finding(name, Status.OK, "no terminal")
            continue
        if stream is sys.stdin:
            yield Finding(name, Status.OK, "a terminal, so you can be asked before a command runs")
            continue
        screen = Screen(stream)
        colours = "colours" if screen.colours else "no colours"
        text = f"a terminal, {screen.width} columns used, {stream.encoding}, {colours}"
        yield Finding(name, Status.OK, text)


async def try_live(*, provider: str | None = None) -> Finding:
    """One tiny request to the configured model, with a tool on offer: not every model takes one."""
    from labs.catalog import chapter_numbers
    from labs.kit import open_model
    from labs.provider import known_providers
    from shared.config import load_settings
    from shared.errors import WorkbookError
    from shared.events import fan_out
    from shared.messages import Request, ToolSpec, UserMessage

    tool = ToolSpec("ready", "Says that you are ready.", {"type": "object", "properties": {}})
    request = Request((UserMessage("Reply with the single word: ready"),), (tool,))
    try:
        settings = load_settings(
            os.environ, Path.cwd(), ROOT, provider=provider, providers=known_providers()
        )
        if settings is None:
            return Finding("live", Status.BAD, "Not tried: no provider is configured.")
        async with open_model(settings, max(chapter_numbers())) as model:
            reply = await model.reply(request, fan_out(()))
    except WorkbookError as error:
        return Finding("live", Status.BAD, str(error))
    if not reply.content:
        return Finding("live", Status.NOTE, f"{settings.model} answered, but with nothing.")
    cost = f", {reply.usage.input_tokens + reply.usage.output_tokens} tokens" if reply.usage else ""
    return Finding("live", Status.OK, f"{settings.model} answered and accepts tools{cost}")
