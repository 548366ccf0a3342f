"""`workbook dev`: for those who write the workbook."""

from __future__ import annotations

import sys

import click

from shared.screen import Screen, Style


@click.group("dev")
def command() -> None:
    """For those who write chapters: texts, exercises, a new chapter."""


@command.command("docs")
@click.option(
    "--check", "only_check", is_flag=True, help="Change nothing; exit 1 if a text drifted."
)
@click.pass_context
def docs(ctx: click.Context, only_check: bool) -> None:
    """Make what the texts show anew: excerpts of the code, console transcripts, tables."""
    from labs.desk.book import this_book
    from labs.desk.docs import refresh

    drifted = 0
    for page in refresh(this_book(), write=not only_check):
        if not page.drifted:
            continue
        drifted += 1
        if only_check:
            click.echo(page.diff)
        else:
            click.echo(f"refreshed {page.path}")
    if only_check and drifted:
        click.echo("The text is not what the code is. To refresh it: workbook dev docs")
        ctx.exit(1)
    if not drifted:
        click.echo("The texts show what the code is.")


@command.command("starters")
def starters() -> None:
    """Make every starter anew from its solution."""
    from labs.desk.book import this_book
    from labs.desk.exercise_files import write_starters

    book = this_book()
    written = write_starters(book)
    for path in written:
        click.echo(f"wrote {book.show(path)}")
    if not written:
        click.echo("The starters are what the solutions give.")


@command.command("verify")
@click.pass_context
def verify(ctx: click.Context) -> None:
    """Prove that every exercise can be begun and solved, and every answer be proved.

    Starters are made from the solutions, give nothing away, and fail because they are unfinished;
    solutions pass, are formatted, linted and typed; hints are there; the tests behind the answers
    of the self-tests exist.
    """
    from labs.desk.book import this_book
    from labs.desk.verify import steps

    screen = Screen(sys.stdout)
    good = True
    for name, problems in steps(this_book()):
        screen.line(
            f"{'ok ' if not problems else 'BAD'} {name}", Style.BAD if problems else Style.GOOD
        )
        for problem in problems:
            good = False
            screen.labelled("", problem, gutter=4)
    ctx.exit(0 if good else 1)


@command.command("new-chapter")
@click.argument("number", type=click.IntRange(min=1), metavar="N")
@click.argument("title")
def new_chapter(number: int, title: str) -> None:
    """Lay out chapter N: package, text, lab, tests and an exercise, all of it green at once."""
    from labs.desk.book import this_book
    from labs.desk.new_chapter import lay_out

    for line in lay_out(this_book(), number, title):
        click.echo(line)
