"""Lab 2: write, change, read and find files, try to leave the workspace, and race an attacker.

workbook lab 2            offline: the model is a script, everything else is real
workbook lab 2 --live     the model from your .env does the same task
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TextIO

from chapters import ch02
from chapters.ch02.naive_path import read_resolved
from chapters.ch02.swap_attack import SwapAttack
from chapters.ch02.workspace import open_workspace
from labs.experiment import (
    Answers,
    Observed,
    check_pairing,
    code_word,
    introduce,
    observe,
    throw_away_folder,
)
from shared.errors import ToolError
from shared.facts import Facts
from shared.messages import AssistantMessage, Request
from shared.plan import Kit, Plan
from shared.ports import Model
from shared.scripted import Reply, call, last_result, says

READS = 3000  # under attack, by each of two readers

PROMPT = (
    "Write demo/note.txt with two lines, each of them the word alpha. Change the first alpha to "
    "gamma. Read the file, list demo/*.txt, then read ../secret.txt. If you cannot read that one, "
    "read public.txt instead and tell me the word in it."
)


def script() -> list[Reply]:
    """What the model says. The word of public.txt is not in here: it has to be read."""

    def answer(request: Request) -> AssistantMessage:
        return says(f"The word in public.txt is {last_result(request).text.strip()}.")

    return [
        says(
            "I will write the note.",
            call("write_file", path="demo/note.txt", content="alpha\nalpha\n"),
        ),
        says(
            call("edit_file", path="demo/note.txt", old_text="alpha", new_text="gamma"),
            call("read_file", path="demo/note.txt"),
            call("glob", pattern="demo/*.txt"),
        ),
        says("Now the other file.", call("read_file", path="../secret.txt")),
        says("I cannot leave the workspace.", call("read_file", path="public.txt")),
        answer,
    ]


async def run(
    *,
    live: Model | None = None,
    keep: bool = False,
    out: TextIO = sys.stdout,
    plan: Callable[[Kit], Plan] = ch02.plan,
) -> bool:
    """Run the lab and check its facts; True if all of them hold."""
    public, secret = code_word(), f"secret {code_word()}"
    introduce(2, ch02.PROFILE.title, live=live is not None, out=out)
    with throw_away_folder(keep=keep, out=out) as folder:
        workspace = folder / "workspace"
        workspace.mkdir()
        (workspace / "public.txt").write_text(f"{public}\n", encoding="utf-8")
        (folder / "secret.txt").write_text(f"{secret}\n", encoding="utf-8")
        nobody = Answers((), out)
        seen = await observe(
            plan, workspace, PROMPT, script=script(), live=live, approver=nobody, out=out
        )
        print("\nFacts", file=out)
        facts = Facts(out)
        check_run(facts, seen, workspace, public, secret)
        facts.equal("nobody was asked: in this chapter only the shell asks", nobody.questions, [])
        await race(facts, folder, out)
    return facts.conclude()


def check_run(facts: Facts, seen: Observed, workspace: Path, public: str, secret: str) -> None:
    """What must hold after the task, whoever the model is."""
    check_pairing(facts, seen)
    facts.equal(
        "only the first alpha became gamma, on the disk",
        contents(workspace / "demo" / "note.txt"),
        b"gamma\nalpha\n",
    )
    facts.check(
        "read_file returned what edit_file had written",
        any(r.name == "read_file" and "gamma\nalpha" in r.text for r in seen.results),
        [result.text for result in seen.results],
    )
    facts.check(
        "glob found the file by a relative path",
        any(r.name == "glob" and r.text.splitlines() == ["demo/note.txt"] for r in seen.results),
        [result.text for result in seen.results if result.name == "glob"],
    )
    facts.check(
        "the way out was refused as path_escape",
        "path_escape" in seen.codes("read_file"),
        seen.codes("read_file"),
    )
    facts.check(
        "no request ever held the text of ../secret.txt",
        not any(secret in repr(message) for r in seen.requests for message in r.messages),
        "the secret was sent",
    )
    facts.check("the answer holds the word of public.txt", public in seen.answer, seen.answer)


def contents(path: Path) -> bytes | None:
    """The bytes of a file, or None if there is none."""
    return path.read_bytes() if path.is_file() else None


async def race(facts: Facts, folder: Path, out: TextIO) -> None:
    """Read one file while another process swaps its directory for a link that leads outside."""
    print("\nThe race: another process swaps a directory for a link, over and over", file=out)
    root, outside = folder / "arena", folder / "outside"
    for directory in (root / "docs", outside):
        directory.mkdir(parents=True)
    (root / "docs" / "plan.txt").write_text("public", encoding="utf-8")
    (outside / "plan.txt").write_text("SECRET", encoding="utf-8")
    try:
        (root / "link").symlink_to(Path("..") / "outside", target_is_directory=True)
    except OSError as error:  # Windows without developer mode
        print(f"  left out: this system lets you make no links ({error.strerror})", file=out)
        return

    async def resolve_then_open() -> str:
        return read_resolved(root, "docs/plan.txt")

    with open_workspace(root) as files:
        readers = {
            "resolve, compare, open": resolve_then_open,
            "the walk": lambda: files.read_text("docs/plan.txt"),
        }
        leaks, swaps = {}, {}
        for name, read in readers.items():
            with SwapAttack(root / "docs", root / "link") as attack:
                leaks[name] = await count_leaks(read)
            swaps[name] = attack.swaps
            print(
                f"  {name}: {READS:,} reads, {attack.swaps:,} swaps, {leaks[name]:,} leaks",
                file=out,
            )
    facts.check("the attacker swapped the two names all the while", all(swaps.values()), swaps)
    facts.equal("under attack the walk never read the outside file", leaks["the walk"], 0)


async def count_leaks(read: Callable[[], Awaitable[str]]) -> int:
    """How many of `READS` reads returned what stands outside."""
    leaks = 0
    for number in range(READS):
        if number % 100 == 0:
            await asyncio.sleep(0)  # here a Ctrl-C gets in
        with contextlib.suppress(ToolError, OSError):  # refused, or the name was missing just now
            leaks += await read() == "SECRET"
    return leaks


if __name__ == "__main__":
    from labs.cli import main

    main(["lab", "2"])
