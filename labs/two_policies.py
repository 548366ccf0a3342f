"""The last part of lab 5: a number sent as text, under both policies of validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from chapters.ch05.validation import COERCING, STRICT, ValidationPolicy, json_schema_tool
from labs.experiment import Answers, Observed, check_pairing, code_word, observe
from shared.facts import Facts
from shared.messages import ToolSpec
from shared.plan import Kit, Plan
from shared.screen import Screen
from shared.scripted import Reply, call, last_result, says
from shared.tools import Effect

SPEC = ToolSpec(
    "list_words",
    "List the newest words, at most `limit` of them.",
    {
        "type": "object",
        "properties": {"limit": {"type": "integer"}},
        "required": ["limit"],
        "additionalProperties": False,
    },
)


@dataclass
class Words:
    """The handler of the tool: it keeps what it was called with."""

    word: str
    received: list[dict[str, Any]] = field(default_factory=list)

    async def __call__(self, arguments: dict[str, Any]) -> str:
        """One word, whatever the limit."""
        self.received.append(arguments)
        return self.word


def script() -> list[Reply]:
    """What the model says: a number as text, and the number if it is told to."""
    return [
        says(call("list_words", limit="10")),
        lambda request: (
            says(call("list_words", limit=10))
            if last_result(request).code
            else says(f"It is {last_result(request).text}.")
        ),
        lambda request: says(f"It is {last_result(request).text}."),
    ]


async def two_policies(
    facts: Facts, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO
) -> None:
    """The same call twice: refused with the reason, and converted."""
    screen = Screen(out)
    screen.line('\n4. {"limit": "10"}, where a number is asked for')
    ran = {}
    for policy in (STRICT, COERCING):
        screen.line(f"\nThe policy {policy.name}:\n")
        ran[policy.name] = await under(policy, workspace, plan, out)
    screen.line("\nFacts")
    check(facts, *ran["strict"], *ran["coercing"])


async def under(
    policy: ValidationPolicy, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO
) -> tuple[Words, Observed]:
    """The agent with one more tool, checked by this policy."""
    words = Words(code_word())
    tool = json_schema_tool(SPEC, Effect.READ, words, policy)
    seen = await observe(
        lambda kit: plan(kit).with_tools(tool),
        workspace,
        "Which word is the newest?",
        script=script(),
        live=None,
        approver=Answers((), out),
        out=out,
    )
    return words, seen


def check(facts: Facts, strict: Words, refused: Observed, kind: Words, converted: Observed) -> None:
    """What the handlers got, and what the model was told."""
    first = refused.results[0].text if refused.results else ""
    facts.equal(
        "strict: the first call was refused, the second one ran",
        refused.codes("list_words"),
        ["invalid_arguments", None],
    )
    facts.check(
        "strict: the model was told where, why, and what it had sent",
        all(part in first for part in ("limit", "integer", '"10"')),
        first,
    )
    facts.equal(
        "strict: the handler got the number that was sent", strict.received, [{"limit": 10}]
    )
    facts.equal("coercing: the call ran at once", converted.codes("list_words"), [None])
    facts.equal("coercing: the handler got a number as well", kind.received, [{"limit": 10}])
    facts.equal(
        "coercing: in the history the call is as the model wrote it",
        [each.arguments for each in converted.calls],
        ['{"limit": "10"}'],
    )
    for policy, words, seen in ((STRICT, strict, refused), (COERCING, kind, converted)):
        claim = f"{policy.name}: the answer holds the word"
        facts.check(claim, words.word in seen.answer, seen.answer)
        check_pairing(facts, seen, where=f"{policy.name}: ")
