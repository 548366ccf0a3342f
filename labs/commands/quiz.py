"""`workbook quiz`: the questions of a chapter, one by one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from labs.chapter_number import CHAPTER

if TYPE_CHECKING:
    from labs.desk.quiz import Question


@click.command("quiz")
@click.argument("chapter", type=CHAPTER, metavar="N")
@click.option("--answers", is_flag=True, help="Print all questions with their answers.")
@click.option("--prove", is_flag=True, help="Run the tests that prove the answers.")
@click.pass_context
def command(ctx: click.Context, chapter: int, answers: bool, prove: bool) -> None:
    """Answer the self-test of chapter N: think, press Enter, compare.

    Every answer names the test that proves it; --prove runs those tests.

    Exit codes: 0 all right; 1 a proof fails.
    """
    from labs.desk.book import this_book
    from labs.desk.quiz import questions_of

    book = this_book()
    questions = questions_of(book, chapter)
    if prove:
        ctx.exit(0 if _prove(questions) else 1)
    folder = book.show(book.chapter_folder(chapter))
    if answers or not at_a_terminal():
        for question in questions:
            _ask(question, len(questions))
            if answers:
                _answer(question, folder)
        if not answers:
            click.echo(f"The answers: workbook quiz {chapter} --answers")
        return
    click.echo("Answer aloud or in your head, then press Enter.\n")
    for question in questions:
        _ask(question, len(questions))
        if _key("Enter shows the answer, q leaves: "):
            return
        _answer(question, folder)
        if question is not questions[-1] and _key("Enter for the next question, q leaves: "):
            return
    click.echo(f"That was all. The proofs: workbook quiz {chapter} --prove")


def at_a_terminal() -> bool:
    """True if a person can be shown a question and press Enter."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(question: Question, count: int) -> None:
    from labs.desk.page import show

    show(f"**{question.number} of {count}.** {question.text}\n\n", paged=False)


def _answer(question: Question, folder: str) -> None:
    from labs.desk.page import show
    from labs.desk.terminal_text import for_terminal

    show(for_terminal(question.answer, folder=folder, answers=None), paged=False)
    click.echo()
    for proof in question.proofs:
        # The whole id would be wider than most terminals, and a folded line cannot be copied.
        path, _, name = proof.partition("::")
        click.echo(f"Proof, in {path}:")
        click.echo(f"pytest -k {name.rpartition('::')[2]}")
    click.echo()


def _key(prompt: str) -> bool:
    """Wait for Enter; True if the reader wants to leave."""
    try:
        answer = input(prompt)
    except EOFError:
        answer = "q"
    click.echo()
    return answer.strip().lower() in {"q", "quit", "exit"}


def _prove(questions: Sequence[Question]) -> bool:
    from labs.desk.book import this_book
    from labs.desk.quiz import prove
    from shared.screen import Screen, Style

    screen = Screen(sys.stdout)
    results = prove(this_book(), questions)
    for question, proved in results:
        style = Style.GOOD if proved else Style.BAD
        label = f"{screen.mark(good=proved)} {question.number}"
        screen.labelled(label, question.text, gutter=6, style=style)
        for proof in question.proofs if not proved else ():
            screen.labelled("", f"pytest {proof}", gutter=6)
    count = sum(proved for _, proved in results)
    screen.line()
    screen.line(f"{count} of {len(results)} answers are proved.")
    return count == len(results)
