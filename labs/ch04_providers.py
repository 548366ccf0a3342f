"""Lab 4: one round trip by hand, then one task that goes from provider to provider.

workbook lab 4            offline: scripts and local servers; the providers' own clients are real
workbook lab 4 --live     the model from your .env does both; it stays at one provider
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from chapters import ch04
from chapters.ch04.gemini_client import installed as gemini_is_installed
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.refusals import refusals
from labs.experiment import (
    Answers,
    Observed,
    check_pairing,
    code_word,
    introduce,
    observe,
    throw_away_folder,
)
from labs.provider_tour import (
    ANTHROPIC,
    GEMINI,
    IDS,
    ROUTE,
    SIGNATURE,
    THOUGHT,
    Asked,
    open_tour,
)
from labs.round_by_hand import by_hand
from labs.terminal import TerminalApprover
from labs.wire_items import brief, calls_in, holding, results_in
from shared.facts import Facts
from shared.messages import AssistantMessage, Request
from shared.plan import Kit, Plan
from shared.ports import Model
from shared.screen import Screen
from shared.text import visible

TASK = "Read word.txt and gone.txt, look around, then tell me the code word of word.txt."


async def run(
    *,
    live: Model | None = None,
    keep: bool = False,
    out: TextIO = sys.stdout,
    plan: Callable[[Kit], Plan] = ch04.plan,
) -> bool:
    """Run the lab and check its facts; True if all of them hold."""
    introduce(4, ch04.PROFILE.title, live=live is not None, out=out)
    facts = Facts(out)
    with throw_away_folder(keep=keep, out=out) as folder:
        await by_hand(facts, folder / "downloads", live, out)
        workspace = folder / "workspace"
        workspace.mkdir()
        if live is None:
            await on_tour(facts, workspace, plan, out)
        else:
            await at_one_provider(facts, workspace, plan, live, out)
    return facts.conclude()


async def on_tour(facts: Facts, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO) -> None:
    """The same task, begun at one provider and ended at another."""
    screen = Screen(out)
    route = ROUTE if gemini_is_installed() else [name for name in ROUTE if name != GEMINI]
    screen.line("\n2. One task, and a provider that changes with every request")
    number = len(set(route))
    screen.line(f"   Local servers play {number} providers, whose own clients talk to them.")
    if GEMINI not in route:
        screen.line("   Gemini is left out. To have it, in the workbook's folder:")
        screen.line("   pip install -e '.[gemini]'")
    screen.line()
    word = write_word(workspace)
    async with open_tour(route, screen) as tour:
        seen = await observe(
            plan, workspace, TASK, script=(), live=tour, approver=Answers((), out), out=out
        )
    show_wire(screen, tour.asked)
    screen.line("\nFacts")
    check_run(facts, seen, word)
    check_tour(facts, seen, tour.asked, route, word)


async def at_one_provider(
    facts: Facts, workspace: Path, plan: Callable[[Kit], Plan], live: Model, out: TextIO
) -> None:
    """The task without the tour: there is one provider in a .env."""
    print("\n2. The same task at your provider only: it cannot change to another\n", file=out)
    word = write_word(workspace)
    seen = await observe(
        plan, workspace, TASK, script=(), live=live, approver=TerminalApprover(), out=out
    )
    print("\nFacts", file=out)
    check_run(facts, seen, word)


def write_word(workspace: Path) -> str:
    """Put a new code word into the workspace, and return it."""
    word = code_word()
    (workspace / "word.txt").write_text(f"{word}\n", encoding="utf-8")
    return word


def check_run(facts: Facts, seen: Observed, word: str) -> None:
    """What must hold whoever the model is."""
    check_pairing(facts, seen)
    facts.check("the answer holds the code word", word in seen.answer, seen.answer or seen.error)


def last_requests(asked: Sequence[Asked]) -> dict[str, Any]:
    """What each provider was sent last: the longest part of the history that it has seen."""
    return {each.provider: each.body for each in asked}


def show_wire(screen: Screen, asked: Sequence[Asked]) -> None:
    """The same pieces of the history as each provider receives them."""
    screen.line()
    said = "The same history as each provider receives it, with ids of a form that it takes."
    if any(each.provider == GEMINI for each in asked) and not KNOWN[GEMINI].call_ids:
        said += " Gemini gets no ids: there the order tells which result is whose."
    screen.folded(said)
    for title, find, position in (
        ("The first call:", calls_in, 0),
        ("Its result:", results_in, 0),
        ("The result of the call that failed:", results_in, 1),
    ):
        screen.line(f"\n{title}\n")
        for name, body in last_requests(asked).items():
            items = find(KNOWN[name].api, body)[position : position + 1]
            show_item(screen, name, [item.json for item in items])
    screen.line("\nA thought, signed by the provider whose model thought it:\n")
    for name, body in last_requests(asked).items():
        show_item(screen, name, holding(body, SIGNATURE))


def show_item(screen: Screen, name: str, found: Sequence[Any]) -> None:
    """What was found in the request to a provider, in short."""
    text = "\n".join([brief(item) for item in found]) or "(not sent)"
    screen.labelled(name, visible(text), gutter=18)


def check_tour(
    facts: Facts, seen: Observed, asked: Sequence[Asked], route: Sequence[str], word: str
) -> None:
    """What must hold of the requests that the providers received."""
    facts.equal("each provider was asked in its turn", [each.provider for each in asked], [*route])
    facts.check(
        "the word read at the first provider is in the request to the second",
        len(asked) > 1 and word in json.dumps(asked[1].body),
        "it is not in there",
    )
    problems = [
        f"{each.provider}: {problem}"
        for each in asked
        for problem in refusals(KNOWN[each.provider].api, each.body, KNOWN[each.provider])
    ]
    facts.equal("no provider has anything to refuse", problems, [])
    check_ids(facts, asked, seen.requests)
    facts.equal(
        "in our own history every id is as it came",
        [each.id for each in seen.calls if each.id in IDS],
        list(IDS),
    )
    facts.equal(
        "a signed thought went back to its own provider, and to nobody else",
        {
            each.provider
            for each in asked
            if holding(each.body, THOUGHT) or holding(each.body, SIGNATURE)
        },
        {ANTHROPIC},
    )


def check_ids(facts: Facts, asked: Sequence[Asked], requests: Sequence[Request]) -> None:
    """Calls and results as they stand on the wire, against the requests of the loop."""
    counts, pairs, illegal = [], [], []
    for each in asked:
        provider = KNOWN[each.provider]
        calls = [item.key for item in calls_in(provider.api, each.body)]
        results = [item.key for item in results_in(provider.api, each.body)]
        counts.append(len(calls))
        pairs.append((calls, results))
        if provider.call_ids:
            illegal += [key for key in calls if not re.fullmatch(provider.ids.legal, key)]
    facts.equal("each request held every call so far", counts, [calls_of(r) for r in requests])
    facts.check(
        "each call was answered once, under the id that it was sent with",
        all(calls == results for calls, results in pairs),
        pairs,
    )
    facts.equal("an id that a provider does not take was rewritten for it", illegal, [])


def calls_of(request: Request) -> int:
    """How many calls a request holds, before it is written for a provider."""
    return sum(len(each.calls) for each in request.messages if isinstance(each, AssistantMessage))


if __name__ == "__main__":
    from labs.cli import main

    main(["lab", "4"])
