"""The first part of lab 4: a round trip without a loop, and where it stops."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from chapters.ch01.chat_wire import to_body
from chapters.ch02.workspace import open_workspace
from chapters.ch04.downloads import list_download_files
from chapters.ch04.one_round import OneRound, answer_with_one_tool_round
from labs.experiment import Witness, code_word
from shared.facts import Facts
from shared.messages import Request, ToolResult
from shared.ports import Model
from shared.screen import Screen
from shared.scripted import Reply, ScriptedModel, call, last_result, says
from shared.text import visible
from shared.tools import Returned, Tool

ONE_ROUND = "Which PDFs are in my downloads folder?"
TWO_ROUNDS = "Which PDFs are there? Look for pictures only after that."


def one_round() -> list[Reply]:
    """What the model says to the first question. It does not know the names."""
    return [
        says(call("list_download_files", extension=".pdf")),
        lambda request: says(f"There are two:\n{last_result(request).text}"),
    ]


def two_rounds() -> list[Reply]:
    """What it says to the second one: after the first result it wants to look again."""
    return [
        says(call("list_download_files", extension=".pdf")),
        says("And the pictures:", call("list_download_files", extension=".jpg")),
        says("This is for a loop: after one round nobody asks for it."),
    ]


async def by_hand(facts: Facts, folder: Path, live: Model | None, out: TextIO) -> None:
    """A round without a loop, and a question for which one round is not enough."""
    screen = Screen(out)
    pdfs = fill(folder)
    ran: list[str] = []
    models = [Witness(live or ScriptedModel(script())) for script in (one_round, two_rounds)]
    with open_workspace(folder) as files:
        tools = [counted(list_download_files(files), ran)]
        screen.line("1. One round by hand: four messages and no loop\n")
        answered = await answer_with_one_tool_round(models[0], tools, ONE_ROUND)
        show_messages(screen, answered)
        screen.line(f"\nThe same for: {TWO_ROUNDS}\nThis time the last message is:\n")
        stopped = await answer_with_one_tool_round(models[1], tools, TWO_ROUNDS)
        show_messages(screen, stopped, first=len(stopped.messages))
        if stopped.asks_again:
            screen.line("\nThat is a request and not an answer. Nobody has run it.")

    screen.line("\nFacts")
    check_round(facts, answered, pdfs, folder)
    asked = [len(model.requests) for model in models]
    facts.check("the model was asked twice at most", max(asked) <= 2, asked)
    if live is None:
        facts.equal("the first question took four messages", len(answered.messages), 4)
        facts.check("the second question was left with an open call", stopped.asks_again)
        facts.equal("for each of them the tool ran once", len(ran), 2)


def fill(folder: Path) -> list[str]:
    """Make a downloads folder, and return the names of the PDFs in it, sorted."""
    pdfs = [f"Invoice-{code_word()}.PDF", f"ticket-{code_word()}.pdf"]
    (folder / "folder.pdf").mkdir(parents=True)  # not a file, whatever its name says
    for name in (*pdfs, f"photo-{code_word()}.jpg"):
        (folder / name).touch()
    return pdfs


def counted(tool: Tool, ran: list[str]) -> Tool:
    """The same tool, which adds its name to `ran` when it runs."""

    async def handler(arguments: Any) -> Returned:
        ran.append(tool.name)
        return await tool.handler(arguments)

    return replace(tool, handler=handler)


def show_messages(screen: Screen, outcome: OneRound, *, first: int = 1) -> None:
    """The messages from number `first` on, as OpenAI Chat Completions writes them."""
    wire = to_body(Request(outcome.messages), "a-model")["messages"]
    for number, message in enumerate(wire[first - 1 :], first):
        text = json.dumps(message, ensure_ascii=False)
        screen.labelled(str(number), visible(text), gutter=4)


def check_round(facts: Facts, outcome: OneRound, pdfs: Sequence[str], folder: Path) -> None:
    """What must hold whoever the model is."""
    results = [message for message in outcome.messages if isinstance(message, ToolResult)]
    facts.check(
        "the result names the PDFs, and nothing that only looks like one",
        any(result.text.split("\n") == pdfs for result in results),
        [result.text for result in results],
    )
    facts.check(
        "the answer holds the names, which are new in every run",
        all(name in outcome.reply.text for name in pdfs),
        outcome.reply.text,
    )
    facts.check(
        "no message says where the folder is",
        str(folder.parent) not in repr(outcome.messages),
        "the path is in a message",
    )
