"""Lab 1: a question that only the machine can answer, a command refused, and one that fails.

workbook lab 1            offline: the model is a script, everything else is real
workbook lab 1 --live     the model from your .env; you are asked before each command
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

from chapters import ch01
from labs.experiment import (
    Answers,
    Observed,
    check_pairing,
    code_word,
    introduce,
    observe,
    throw_away_folder,
)
from labs.terminal import TerminalApprover
from shared.facts import Facts
from shared.messages import AssistantMessage, Request
from shared.plan import Kit, Plan
from shared.ports import Model
from shared.scripted import Reply, call, last_result, says

PROMPT = "Which code word stands in code.txt? Use the shell to find out."


def script() -> list[Reply]:
    """What the model says. It does not know the code word: it has to read it."""
    seen: list[str] = []

    def after_reading(request: Request) -> AssistantMessage:
        seen.append(last_result(request).text.strip())
        return says("Now I will tidy up.", call("shell", command="rm code.txt"))

    return [
        says("I will look into the file.", call("shell", command="cat code.txt")),
        after_reading,
        says("Then the file stays. One more check.", call("shell", command="exit 3")),
        lambda request: says(f"The code word is {seen[0]}."),
    ]


async def run(
    *,
    live: Model | None = None,
    keep: bool = False,
    out: TextIO = sys.stdout,
    plan: Callable[[Kit], Plan] = ch01.plan,
) -> bool:
    """Run the lab and check its facts; True if all of them hold."""
    word = code_word()
    introduce(1, ch01.PROFILE.title, live=live is not None, out=out)
    with throw_away_folder(keep=keep, out=out) as workspace:
        (workspace / "code.txt").write_text(f"{word}\n", encoding="utf-8")
        person = Answers(("cat code.txt", "exit 3"), out)
        seen = await observe(
            plan,
            workspace,
            PROMPT,
            script=script(),
            live=live,
            approver=TerminalApprover() if live else person,
            out=out,
        )
        print("\nFacts", file=out)
        facts = Facts(out)
        check_any_run(facts, seen, word)
        if live is None:
            check_scripted_run(facts, seen, person)
            facts.check(
                "the refused command changed nothing: code.txt is still there",
                (workspace / "code.txt").exists(),
                "code.txt is gone",
            )
    return facts.conclude()


def check_any_run(facts: Facts, seen: Observed, word: str) -> None:
    """What must hold whoever the model is."""
    facts.check(
        "every request offered the tool shell",
        bool(seen.requests)
        and all([tool.name for tool in request.tools] == ["shell"] for request in seen.requests),
        [[tool.name for tool in request.tools] for request in seen.requests],
    )
    check_pairing(facts, seen)
    facts.check(
        "the run ended with a reply that asks for nothing",
        seen.reply is not None and not seen.reply.calls,
        seen.error,
    )
    facts.check("the answer holds the code word from the file", word in seen.answer, seen.answer)


def check_scripted_run(facts: Facts, seen: Observed, person: Answers) -> None:
    """What must hold because the script went this way."""
    facts.equal("the model was asked four times", len(seen.requests), 4)
    facts.equal("a person was asked before each of the three commands", len(person.questions), 3)
    facts.equal("the two allowed commands ran", seen.commands, ["cat code.txt", "exit 3"])
    facts.equal(
        "a refusal and a failing command came back as data, and the run went on",
        seen.codes("shell"),
        [None, "permission_denied", "shell_failed"],
    )


if __name__ == "__main__":
    from labs.cli import main

    main(["lab", "1"])
