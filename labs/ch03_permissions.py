"""Lab 3: calls that pass, are allowed, asked about and denied, and a no that changes the course.

workbook lab 3            offline: the model is a script, everything else is real
workbook lab 3 --live     the model from your .env; you are asked where the policy asks
"""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from chapters import ch03
from chapters.ch03.audit import AuditFile
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
from shared.screen import Screen
from shared.scripted import Reply, call, last_result, says
from shared.text import visible

RULES = """\
[[rule]]
behaviour = "allow"
tool = "write_file"
path = "drafts/**"

[[rule]]
behaviour = "deny"
effect = "write"
path = "code.txt"
reason = "code.txt is only for reading"

[[rule]]
behaviour = "allow"
command = "echo"
"""
PLAN = "1. Find the word.\n"
REASON = "add a line and keep the first one"
TWO_COMMANDS = "echo ready && rm plan.txt"

PROMPT = (
    "Read code.txt and write the word in it to drafts/word.txt. Try to write it to ../word.txt and "
    'to code.txt as well. Run the command "echo ready", then the command '
    f'"{TWO_COMMANDS}". Then replace plan.txt by the line "2. Use WORD.", with the word for WORD. '
    "If something is denied, do as the reason says. Tell me the word at the end."
)


def script() -> list[Reply]:
    """What the model says. It goes on as the person wants only if it was told what that is."""
    word: list[str] = []

    def after_reading(request: Request) -> AssistantMessage:
        word.append(last_result(request).text.strip())
        return says(
            "I will write it in three places.",
            call("write_file", path="drafts/word.txt", content=f"{word[0]}\n"),
            call("write_file", path="../word.txt", content=f"{word[0]}\n"),
            call("write_file", path="code.txt", content="changed\n"),
        )

    def after_the_no(request: Request) -> AssistantMessage:
        if REASON not in last_result(request).text:
            return says("The plan was denied, and I do not know why.")
        added = f"{PLAN}2. Use {word[0]}.\n"
        return says(
            "Then I will add a line.",
            call("edit_file", path="plan.txt", old_text=PLAN, new_text=added),
        )

    return [
        says("I will read the word.", call("read_file", path="code.txt")),
        after_reading,
        says(
            "Only the draft was allowed. Now the commands.",
            call("shell", command="echo ready"),
            call("shell", command=TWO_COMMANDS),
        ),
        lambda request: says(
            "Now the plan.",
            call("write_file", path="plan.txt", content=f"2. Use {word[0]}.\n"),
        ),
        after_the_no,
        lambda request: says(f"The word is {word[0]}; the draft and the plan hold it."),
    ]


# region: shown
class ShownAudit:
    """The audit on the disk, which this transcript shows as it grows."""

    def __init__(self, path: Path, out: TextIO) -> None:
        self._file = AuditFile(path)
        self._screen = Screen(out)

    def record(self, entry: Mapping[str, Any]) -> None:
        """Write the line, then show it."""
        self._file.record(entry)
        text = f"{entry['decision']}, by {entry['source']}: {entry['reason']}"
        self._screen.labelled("audit", visible(text))


# endregion: shown


async def run(
    *,
    live: Model | None = None,
    keep: bool = False,
    out: TextIO = sys.stdout,
    plan: Callable[[Kit], Plan] = ch03.plan,
) -> bool:
    """Run the lab and check its facts; True if all of them hold."""
    word = code_word()
    introduce(3, ch03.PROFILE.title, live=live is not None, out=out)
    with throw_away_folder(keep=keep, out=out) as folder:
        workspace, rules, audit = folder / "workspace", folder / "rules.toml", folder / "audit"
        workspace.mkdir()
        (workspace / "code.txt").write_text(f"{word}\n", encoding="utf-8", newline="")
        (workspace / "plan.txt").write_text(PLAN, encoding="utf-8", newline="")
        rules.write_text(RULES, encoding="utf-8")
        print("The rules file:\n", file=out)
        print(textwrap.indent(RULES, "  "), file=out)
        person = Answers(("edit_file",), out, refused={"write_file": REASON})
        seen = await observe(
            plan,
            workspace,
            PROMPT,
            script=script(),
            live=live,
            approver=TerminalApprover() if live else person,
            audit=ShownAudit(audit, out),
            rules=rules,
            out=out,
        )
        lines = read_audit(audit)
        print("\nFacts", file=out)
        facts = Facts(out)
        check_any_run(facts, seen, lines, workspace, word)
        if live is None:
            check_scripted_run(facts, seen, lines, person, workspace, word)
    return facts.conclude()


def check_any_run(
    facts: Facts, seen: Observed, lines: Sequence[Any], workspace: Path, word: str
) -> None:
    """What must hold whoever the model is, and whatever a person answers."""
    allowed = {line["call_id"] for line in lines if line["decision"] == "allow"}
    denied = {line["call_id"] for line in lines if line["decision"] == "deny"}
    check_pairing(facts, seen)
    facts.check(
        "no tool ran without a line in the audit that allows it",
        all(result.call_id in allowed for result in seen.results if result.code is None),
        lines,
    )
    facts.equal(
        "every refusal has a line in the audit that denies it",
        [r.call_id for r in seen.results if r.code == "permission_denied"],
        [r.call_id for r in seen.results if r.call_id in denied],
    )
    facts.equal(
        "the file that a rule protects is unchanged",
        contents(workspace / "code.txt"),
        f"{word}\n",
    )
    facts.equal("nothing was written outside", contents(workspace.parent / "word.txt"), None)
    facts.check("the answer holds the word of code.txt", word in seen.answer, seen.answer)


def check_scripted_run(
    facts: Facts,
    seen: Observed,
    lines: Sequence[Any],
    person: Answers,
    workspace: Path,
    word: str,
) -> None:
    """What must hold because the script went this way."""
    who = [(line["tool"], line["decision"], line["source"].split(",")[0]) for line in lines]
    for claim, line in (
        ("pass: nobody objects to reading, so it is allowed", ("read_file", "allow", "default")),
        ("allow: a rule of the file let the draft through", ("write_file", "allow", "rules")),
        ("deny: the boundary stopped the way out", ("write_file", "deny", "boundary")),
        ("deny: a rule of the file protected code.txt", ("write_file", "deny", "rules")),
        ("ask: the person said no to replacing the plan", ("write_file", "deny", "user")),
        ("ask: the person said yes to adding a line", ("edit_file", "allow", "user")),
    ):
        facts.check(claim, line in who, who)
    facts.equal(
        "the audit holds one line for every call, in the order of the calls",
        [line["call_id"] for line in lines],
        [each.id for each in seen.calls],
    )
    asked = ("shell", "write_file", "edit_file")
    facts.check(
        "a person was asked three times: where no rule decided, and nowhere else",
        len(person.questions) == 3
        and all(tool in text for tool, text in zip(asked, person.questions, strict=True)),
        person.questions,
    )
    facts.equal(
        'the rule that allows "echo" allowed no second command', seen.commands, ["echo ready"]
    )
    facts.check(
        "the reason for the no reached the model",
        any(r.code == "permission_denied" and REASON in r.text for r in seen.results),
        [result.text for result in seen.results],
    )
    facts.equal("the draft is on the disk", contents(workspace / "drafts/word.txt"), f"{word}\n")
    facts.equal(
        "the plan has its first line and one more",
        contents(workspace / "plan.txt"),
        f"{PLAN}2. Use {word}.\n",
    )


def contents(path: Path) -> str | None:
    """The text of a file, or None if there is none."""
    return path.read_bytes().decode() if path.is_file() else None


def read_audit(path: Path) -> list[Any]:
    """The lines of the audit; none if nothing was ever written."""
    return [json.loads(line) for line in (contents(path) or "").splitlines()]


if __name__ == "__main__":
    from labs.cli import main

    main(["lab", "3"])
