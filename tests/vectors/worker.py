"""Runs one operation at a time in another process, which may hang, crash or be another user."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from shared.errors import ToolError
from shared.ports import WorkspaceFiles


class Files(WorkspaceFiles, Protocol):
    """What an adapter under test can do."""

    async def resolve(self, path: str) -> str:
        """The path without links."""
        ...


Opener = Callable[[Path], AbstractContextManager[Files]]
"""Opens the adapter under test on a workspace; sent to the process, so a name of a module."""


@dataclass(frozen=True)
class Answer:
    """What came of one call: a value, or the code and message of an error, or neither."""

    value: Any = None
    code: str | None = None
    message: str = ""
    broken: str | None = None  # it hung, or raised something that is not a ToolError

    def __str__(self) -> str:
        if self.broken:
            return self.broken
        if self.code:
            return f"error {self.code}: {self.message!a}"
        return f"success: {self.value!a}"


class Worker:
    """One process, started on first use, as another user if `user` is given."""

    def __init__(self, opener: Opener, user: int | None = None, *, patience: float = 3.0) -> None:
        self._opener = opener
        self._user = user
        self._patience = patience
        self._process: multiprocessing.process.BaseProcess | None = None

    def call(self, root: Path, op: str, args: dict[str, Any], times: int = 1) -> list[Answer]:
        """The answers of `times` equal calls, as far as they came within `patience` seconds."""
        if self._process is None:
            self._start()
        try:
            self._connection.send((root, op, args, times))
            if self._connection.poll(self._patience + times / 100):
                answers: list[Answer] = self._connection.recv()
                return answers
            problem = f"no answer within {self._patience:g} seconds"
        except (EOFError, OSError):
            problem = "the process died"
        self.stop()
        return [Answer(broken=problem)]

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._connection.close()
            self._process = None

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, self._opener, self._user), daemon=True
        )
        self._process.start()
        theirs.close()
        self._connection.recv()  # started: from now on the time counts


def _serve(connection: Connection[Any, Any], opener: Opener, user: int | None) -> None:
    if user is not None:
        os.setgroups([])
        os.setegid(user)
        os.seteuid(user)
    connection.send("ready")
    while True:
        try:
            root, op, args, times = connection.recv()
        except EOFError:
            return
        connection.send(asyncio.run(_answers(opener, root, op, args, times)))


async def _answers(
    opener: Opener, root: Path, op: str, args: dict[str, Any], times: int
) -> list[Answer]:
    try:
        with opener(root) as files:
            return [await _answer(files, op, args) for _ in range(times)]
    except Exception as error:
        return [Answer(broken=f"the workspace cannot be opened and closed: {error!r}")]


async def _answer(files: Files, op: str, args: dict[str, Any]) -> Answer:
    try:
        match op:
            case "read":
                return Answer(await files.read_text(args["path"]))
            case "write":
                return Answer(await files.write_text(args["path"], args["content"]))
            case "edit":
                await files.edit_text(args["path"], args["old"], args["new"])
                return Answer()
            case "glob":
                return Answer(await files.glob(args["pattern"]))
            case _:
                return Answer(await files.resolve(args["path"]))
    except ToolError as error:
        return Answer(code=error.code, message=error.message)
    except BaseException as error:
        return Answer(broken=f"raised {error!r}")
