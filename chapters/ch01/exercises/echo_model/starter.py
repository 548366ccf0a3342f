"""A model without a provider: it answers from rules, and a tool's result it echoes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shared.events import Emit
from shared.messages import AssistantMessage, Message, Request, ToolCall, ToolResult
from shared.scripted import last_prompt, says


@dataclass(frozen=True, slots=True)
class Say:
    """Where `pattern` is found in what the user says, answer with `text`.

    In `text`, as in the arguments of a Call, `\\1` stands for the first group of the pattern, and
    so on: the language of `re.Match.expand`.
    """

    pattern: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """Where `pattern` is found in what the user says, ask for `tool` with these arguments."""

    pattern: str
    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)


Rule = Say | Call


class EchoModel:
    """Answers the newest user message by the first rule that fits it.

    It has no memory: the same request gets the same reply. After a tool's result it asks for
    nothing more, so a run with it ends after two requests at most.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = tuple(rules)

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """One whole reply, as every Model gives it."""
        # TODO: If results came last, echo them. Else the first rule that fits; else say so.
        raise NotImplementedError("your turn")


def newest_results(messages: Sequence[Message]) -> list[ToolResult]:
    """The results that nobody has replied to yet, in order; empty if the user spoke last."""
    # TODO: Walk back from the end as long as there are results.
    raise NotImplementedError("your turn")


def echo(result: ToolResult) -> str:
    """What the model says about a result: which tool, whether it failed, and the whole text."""
    # TODO: A failure must not read like a success: look at the result's code.
    raise NotImplementedError("your turn")


def answer(rule: Rule, found: re.Match[str], request: Request) -> AssistantMessage:
    """The reply a rule stands for. A tool that is not on offer is not asked for."""
    # TODO: Fill in the groups; a call's arguments become JSON text, its id is of its own.
    raise NotImplementedError("your turn")
