"""Validated calls, policies and people for the tests of this chapter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from chapters.ch01.dispatch import prepare
from chapters.ch01.shell import shell
from chapters.ch02.file_tools import edit_file, glob, read_file, write_file
from chapters.ch02.memory_files import MemoryFiles
from shared.decision import Behaviour, Decision
from shared.scripted import call
from shared.testing import FakeCommands
from shared.tools import PreparedCall

_FILES = MemoryFiles()
_TOOLS = {
    tool.name: tool
    for tool in (
        shell(FakeCommands()),
        read_file(_FILES),
        write_file(_FILES),
        edit_file(_FILES),
        glob(_FILES),
    )
}


def prepared(tool: str, **arguments: Any) -> PreparedCall:
    """A call of one of the agent's five tools, validated."""
    return prepare(_TOOLS[tool], replace(call(tool, **arguments), id="call_1"))


@dataclass
class Says:
    """A participant that always says the same, or raises it, or returns whatever it is given."""

    answer: object
    name: str = "test"
    by_person: bool = False
    heard: list[PreparedCall] = field(default_factory=list)

    async def decide(self, prepared: PreparedCall) -> Decision:
        """Say it."""
        self.heard.append(prepared)
        if isinstance(self.answer, BaseException):
            raise self.answer
        if isinstance(self.answer, Behaviour):
            return Decision(self.answer, "the test says so", self.name, self.by_person)
        return self.answer  # type: ignore[return-value]


@dataclass
class Person:
    """An approver whose answer depends on the question, or on how many there were before."""

    answer: Callable[[str], str]
    questions: list[str] = field(default_factory=list)

    async def ask(self, question: str) -> str:
        """Record the question and answer."""
        self.questions.append(question)
        return self.answer(question)


def in_turn(*answers: str) -> Person:
    """A person who gives these answers, one a question."""
    waiting = iter(answers)
    return Person(lambda question: next(waiting))
