"""The composition root: the one place where real adapters are made and put into a kit."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from chapters.ch01.environment import child_environment
from chapters.ch01.local_commands import LocalCommands
from chapters.ch02.workspace import open_workspace
from labs.human import HumanModel
from labs.line_reader import LineReader
from shared.config import Settings
from shared.errors import ConfigError
from shared.messages import Request
from shared.plan import Kit
from shared.ports import Approver, Audit, Model, Participant, WorkspaceFiles
from shared.screen import Screen


@asynccontextmanager
async def open_model(settings: Settings) -> AsyncIterator[Model]:
    """The model that the settings name. Its connections are closed at the end."""
    match settings.provider:
        case "openai":
            from chapters.ch01.openai_chat import OpenAIChat

            async with OpenAIChat(
                base_url=settings.base_url, api_key=settings.api_key, model=settings.model
            ) as model:
                yield model
        case provider:
            raise ConfigError(f"No adapter for the provider {provider!r} has been written yet.")


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
        )


def _rules(path: Path | None, files: WorkspaceFiles) -> tuple[Participant, ...]:
    if path is None:
        return ()
    from chapters.ch03.rules import load_rules

    return (load_rules(path, files),)
