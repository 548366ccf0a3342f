"""Lab 5: a reply seen while it arrives, and what becomes of one that is not whole.

workbook lab 5                  offline: a server on this machine streams what a script says
workbook lab 5 --live           the model from your .env streams its reply to one task
workbook lab 5 --fault NAME     one thing goes wrong on the way; all runs every fault
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

from chapters import ch05
from labs.arrival import Arrival, check_arrival, check_server, scripted_arrival, show_arrival
from labs.experiment import (
    Answers,
    check_pairing,
    code_word,
    introduce,
    observe,
    throw_away_folder,
)
from labs.fault_lab import check_effects, check_requests, check_what_was_told, face, run_fault
from labs.fault_scripts import Names
from labs.faults import FAULTS
from labs.long_arguments import long_arguments
from labs.terminal import TerminalApprover
from labs.two_policies import two_policies
from shared.facts import Facts
from shared.plan import Kit, Plan
from shared.ports import Model
from shared.screen import Screen

__all__ = ["run", "run_fault"]

TASK = "Read word.txt and tell me the code word."


async def run(
    *,
    live: Model | None = None,
    keep: bool = False,
    out: TextIO = sys.stdout,
    plan: Callable[[Kit], Plan] = ch05.plan,
) -> bool:
    """Run the lab and check its facts; True if all of them hold."""
    introduce(5, ch05.PROFILE.title, live=live is not None, out=out)
    facts = Facts(out)
    with throw_away_folder(keep=keep, out=out) as folder:
        places = {name: folder / name for name in ("arrival", "long", "cut", "policies")}
        for place in places.values():
            place.mkdir()
        await seen_while_it_arrives(facts, places["arrival"], plan, live, out)
        if live is None:
            await long_arguments(facts, places["long"], plan, out)
            await cut_off(facts, places["cut"], plan, out)
            await two_policies(facts, places["policies"], plan, out)
    return facts.conclude()


async def seen_while_it_arrives(
    facts: Facts,
    workspace: Path,
    plan: Callable[[Kit], Plan],
    live: Model | None,
    out: TextIO,
) -> None:
    """One task, and what was told in which order."""
    screen = Screen(out)
    screen.line("1. A reply that is seen while it arrives\n")
    word = code_word()
    (workspace / "word.txt").write_text(f"{word}\n", encoding="utf-8")
    arrival = Arrival()
    async with scripted_arrival(arrival, live) as (model, server, clock):
        seen = await observe(
            plan,
            workspace,
            TASK,
            script=(),
            live=model,
            approver=TerminalApprover() if live else Answers((), out),
            clock=clock,
            listeners=[arrival.note],
            out=out,
        )
    show_arrival(screen, arrival)
    screen.line("\nFacts")
    check_arrival(facts, arrival, seen)
    check_pairing(facts, seen)
    facts.check("the answer holds the code word", word in seen.answer, seen.answer or seen.error)
    if server is not None and clock is not None:
        check_server(facts, arrival, server.requests, clock.slept)


async def cut_off(facts: Facts, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO) -> None:
    """A reply with two calls that reaches the output limit in the second one."""
    screen, fault, names = Screen(out), FAULTS["cut-off"], Names(code_word())
    screen.line("\n3. A reply that is cut off\n")
    faced = await face(fault, names, workspace, plan, out)
    screen.line("\nFacts")
    check_requests(facts, fault, faced)
    check_effects(facts, fault, names, faced)
    check_what_was_told(facts, fault, names, faced)


if __name__ == "__main__":
    from labs.cli import main

    main(["lab", "5"])
