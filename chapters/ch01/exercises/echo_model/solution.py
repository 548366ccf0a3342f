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
        # solution: If results came last, echo them. Else the first rule that fits; else say so.
        if results := newest_results(request.messages):
            return says("\n".join(map(echo, results)))
        prompt = last_prompt(request).text
        for rule in self._rules:
            if found := re.search(rule.pattern, prompt):
                return answer(rule, found, request)
        known = ", ".join([rule.pattern for rule in self._rules]) or "(none)"
        return says(f"I have no rule for {prompt!r}. I know the patterns: {known}")
        # end solution


def newest_results(messages: Sequence[Message]) -> list[ToolResult]:
    """The results that nobody has replied to yet, in order; empty if the user spoke last."""
    # solution: Walk back from the end as long as there are results.
    results: list[ToolResult] = []
    for message in reversed(messages):
        if not isinstance(message, ToolResult):
            break
        results.append(message)
    return results[::-1]
    # end solution


def echo(result: ToolResult) -> str:
    """What the model says about a result: which tool, whether it failed, and the whole text."""
    # solution: A failure must not read like a success: look at the result's code.
    return f"{result.name} {'failed' if result.code else 'returned'}:\n{result.text}"
    # end solution


def answer(rule: Rule, found: re.Match[str], request: Request) -> AssistantMessage:
    """The reply a rule stands for. A tool that is not on offer is not asked for."""
    # solution: Fill in the groups; a call's arguments become JSON text, its id is of its own.
    if isinstance(rule, Say):
        return says(found.expand(rule.text))
    if rule.tool not in [tool.name for tool in request.tools]:
        return says(f"I would ask for {rule.tool!r}, but that tool is not on offer.")
    arguments = {name: found.expand(value) for name, value in rule.arguments.items()}
    # The history only grows, so that its length makes an id that no earlier call has.
    call_id = f"echo_{len(request.messages)}"
    return says(ToolCall(call_id, rule.tool, json.dumps(arguments, ensure_ascii=False)))
    # end solution
