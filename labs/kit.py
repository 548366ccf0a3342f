"""The composition root: the one place where real adapters are made and put into a kit."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chapters.ch01.environment import child_environment
from chapters.ch01.local_commands import LocalCommands
from chapters.ch02.workspace import open_workspace
from labs.clock import SystemClock
from labs.human import HumanModel
from labs.line_reader import LineReader
from shared.config import Settings
from shared.messages import Request
from shared.plan import Kit
from shared.ports import Approver, Audit, Model, Participant, WorkspaceFiles
from shared.screen import Screen

if TYPE_CHECKING:  # loaded when a model is opened, and only the one
    from chapters.ch01.openai_chat import OpenAIChat
    from chapters.ch04.live import ProviderModel
    from chapters.ch05.streaming import StreamingModel


@asynccontextmanager
async def open_model(settings: Settings, chapter: int) -> AsyncIterator[Model]:
    """The model that the settings name. Its connections are closed at the end.

    Up to chapter 3 the client of chapter 1 does what it can, and from chapter 5 on replies are
    streamed: what you have read is what runs. Raises ConfigError for settings that no request can
    be sent with.
    """
    first = chapter < 4 and settings.provider == "openai" and not settings.overrides
    async with _first_client(settings) if first else _any_client(settings, chapter) as model:
        yield model


def _first_client(settings: Settings) -> OpenAIChat:
    from chapters.ch01.openai_chat import OpenAIChat

    return OpenAIChat(
        base_url=settings.base_url,
        api_key=settings.api_key,
        model=settings.model,
        prefix=settings.prefix,
    )


def _any_client(settings: Settings, chapter: int) -> ProviderModel | StreamingModel:
    from chapters.ch04.adapters import Access
    from chapters.ch04.known_servers import KNOWN

    fields: dict[str, Any] = dict(settings.overrides)
    provider = replace(KNOWN[settings.provider], **fields)
    access = Access(settings.base_url, settings.api_key, settings.model, settings.prefix)
    if chapter < 5:
        from chapters.ch04.adapters import open_model

        return open_model(provider, access)
    from chapters.ch05.adapters import open_streaming_model

    return open_streaming_model(provider, access)


def human_model(lines: LineReader) -> HumanModel:
    """You, at the terminal."""
    from chapters.ch01.chat_wire import to_body

    def to_wire(request: Request) -> dict[str, object]:
        return to_body(request, "human")

    return HumanModel(lines, Screen(sys.stderr), to_wire)


@contextmanager
def open_kit(
    workspace: Path,
    model: Model,
    approver: Approver,
    secrets: Iterable[str],
    *,
    audit: Audit | None = None,
    rules: Path | None = None,
) -> Iterator[Kit]:
    """Everything an agent needs to work in `workspace`. Raises OSError if that cannot be opened.

    The environment of its commands holds none of the `secrets`. Raises ConfigError if the file
    `rules` is broken; only a file that is named here is read.
    """
    environment = child_environment(os.environ, secrets)
    with open_workspace(workspace) as files:
        yield Kit(
            model=model,
            files=files,
            commands=LocalCommands(workspace, environment=environment),
            approver=approver,
            audit=audit,
            participants=_rules(rules, files),
            clock=SystemClock(),
        )


def _rules(path: Path | None, files: WorkspaceFiles) -> tuple[Participant, ...]:
    if path is None:
        return ()
    from chapters.ch03.rules import load_rules

    return (load_rules(path, files),)
