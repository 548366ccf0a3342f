"""One fault in the lab: a run of the real agent, and what must have come of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from chapters import ch05
from labs.experiment import (
    Answers,
    Observed,
    check_pairing,
    code_word,
    observe,
    throw_away_folder,
)
from labs.fault_scripts import Names
from labs.faults import FAULTS, Fault, fault_named
from labs.faulty_provider import streaming_from
from shared.errors import ProviderError
from shared.events import Event, RetryScheduled
from shared.facts import Facts
from shared.plan import Kit, Plan
from shared.provider_server import ProviderServer, Received
from shared.screen import Screen
from shared.testing import FakeClock

ALL = "all"
PROMPT = "Write the word down."


@dataclass(frozen=True, slots=True)
class Faced:
    """What a fault left behind, for the facts to look at."""

    seen: Observed
    requests: Sequence[Received]
    events: Sequence[Event]
    questions: Sequence[str]
    waited: Sequence[float]
    files: Sequence[str]
    hung_up: bool

    @property
    def again(self) -> list[ProviderError]:
        """The errors after which a request was sent again."""
        errors = [event.error for event in self.events if isinstance(event, RetryScheduled)]
        return [error for error in errors if isinstance(error, ProviderError)]


async def run_fault(
    name: str,
    *,
    keep: bool = False,
    out: TextIO,
    plan: Callable[[Kit], Plan] = ch05.plan,
) -> bool:
    """Run the fault of that name, or `all`, and check its facts; True if all of them hold.

    Raises UnknownFault.
    """
    faults = FAULTS if name == ALL else {name: fault_named(name)}
    screen = Screen(out)
    screen.folded("The provider is a script on this machine; client, agent and files are real.")
    screen.folded("The agent's clock is not: a wait between two requests takes no time.")
    held = {
        each: await run_one(each, fault, keep=keep, out=out, plan=plan)
        for each, fault in faults.items()
    }
    if name == ALL:
        screen.line()
        screen.folded(summary(held))
    return all(held.values())


def summary(held: Mapping[str, bool]) -> str:
    """What came of all faults together."""
    failed = [name for name, fact in held.items() if not fact]
    count = f"{len(held)} faults"
    return f"{count}: {', '.join(failed)} did not hold." if failed else f"{count}: all hold."


async def run_one(
    name: str, fault: Fault, *, keep: bool, out: TextIO, plan: Callable[[Kit], Plan]
) -> bool:
    """Say what will go wrong, let it go wrong, and check what came of it."""
    screen = Screen(out)
    screen.line(f"\nFault {name}")
    announce(fault, screen)
    screen.line()
    names = Names(code_word())
    with throw_away_folder(keep=keep, out=out) as workspace:
        faced = await face(fault, names, workspace, plan, out)
    screen.line("\nFacts")
    facts = Facts(out)
    check_requests(facts, fault, faced)
    check_effects(facts, fault, names, faced)
    check_what_was_told(facts, fault, names, faced)
    return facts.conclude()


def announce(fault: Fault, screen: Screen) -> None:
    """What will go wrong, and what must come of it."""
    screen.labelled("goes wrong", fault.wrong, gutter=12)
    screen.labelled("must come", fault.must, gutter=12)


async def face(
    fault: Fault, names: Names, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO
) -> Faced:
    """The agent, its streaming client, and a server that answers badly."""
    clock, events, person = FakeClock(), list[Event](), Answers(("write_file",), out)
    with ProviderServer(*fault.script(names)) as server:
        async with streaming_from(server, idle=fault.idle) as model:
            seen = await observe(
                plan,
                workspace,
                PROMPT,
                script=(),
                live=model,
                approver=person,
                clock=clock,
                listeners=[events.append],
                out=out,
            )
        hung_up = server.hung_up.wait(1 if "timeout" in fault.again else 0)
    return Faced(
        seen,
        server.requests,
        events,
        person.questions,
        clock.slept,
        names_in(workspace),
        hung_up,
    )


def names_in(workspace: Path) -> list[str]:
    """The files of a workspace, sorted."""
    return sorted(path.name for path in workspace.iterdir())


# The facts


def check_requests(facts: Facts, fault: Fault, faced: Faced) -> None:
    """How often the provider was asked, why again, and after how long."""
    count = len(faced.requests)
    facts.equal(f"the provider was asked {fault.requests} times", count, fault.requests)
    kinds = tuple([error.kind for error in faced.again])
    same = sum(
        one.body == other.body
        for one, other in zip(faced.requests, faced.requests[1:], strict=False)
    )
    if fault.again:
        why = ", then ".join(fault.again)
        facts.equal(f"a request was sent again after: {why}", kinds, fault.again)
        facts.equal("what was sent again was the very same request", same, len(fault.again))
    else:
        facts.equal("no request was sent again", (kinds, same), ((), 0))
    if fault.waits is not None:
        facts.equal("before that it waited as long as it was told", [*faced.waited], [*fault.waits])
    if "timeout" in fault.again:
        facts.check("the agent hung up on the provider that said nothing", faced.hung_up)


def check_effects(facts: Facts, fault: Fault, names: Names, faced: Faced) -> None:
    """What ran and what did not."""
    wanted = sorted(getattr(names, name) for name in fault.asked)
    every = (names.spoilt, names.whole, names.second)
    asked = [name for name in every if any(name in question for question in faced.questions)]
    facts.check(
        "of the spoilt reply nothing ran",
        names.spoilt not in faced.files,
        f"{names.spoilt} was written",
    )
    if not wanted:
        facts.equal("nobody was asked, and nothing was written", [asked, [*faced.files]], [[], []])
        return
    facts.equal("what whole replies asked for ran, and nothing else", [*faced.files], wanted)
    facts.equal("a person was asked about that, and about nothing else", sorted(asked), wanted)


def check_what_was_told(facts: Facts, fault: Fault, names: Names, faced: Faced) -> None:
    """What the model knows of it, and the person."""
    seen = faced.seen
    if fault.codes:
        check_pairing(facts, seen)
    if fault.first_id is not None:
        ids = [call.id for call in seen.calls]
        facts.check(
            "the first call keeps the id it came with, and the other has a new one",
            ids[:1] == [fault.first_id] and len(set(ids)) == len(ids) > 1,
            ids,
        )
    codes = tuple([result.code for result in seen.results])
    said = ", ".join([code or "done" for code in fault.codes])
    claim = f"the results of the calls are: {said}" if said else "no call came of it"
    facts.equal(claim, codes, fault.codes)
    failed = [result.text for result in seen.results if result.code]
    if failed:
        last = json.dumps(faced.requests[-1].body, ensure_ascii=False)
        facts.check(
            "the model was told why, in words",
            all(json.dumps(text, ensure_ascii=False)[1:-1] in last for text in failed),
            failed,
        )
    if fault.again:
        facts.check(
            "nothing of the spoilt reply is in the history",
            names.spoilt not in repr(list(seen.history)),
        )
    if fault.kind is None:
        facts.check("there is an answer, with the word", names.word in seen.answer, seen.error)
        return
    kind = getattr(seen.error, "kind", None)
    facts.equal("there is no answer, but an error", kind, fault.kind)
    facts.check(
        "it says how often the provider was asked, and which setting to check",
        all(part in str(seen.error) for part in ("sent 2 times", "WORKBOOK_BASE_URL")),
        seen.error,
    )
