"""`workbook reset`: begin an exercise again."""

from __future__ import annotations

import sys

import click


@click.command("reset")
@click.argument("name", required=False, metavar="[NN/NAME]")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.pass_context
def command(ctx: click.Context, name: str | None, yes: bool) -> None:
    """Put the starter in the place of your file. Yours is moved to work/.trash, never deleted."""
    from labs.desk.book import DeskError, this_book
    from labs.desk.check import chosen
    from labs.desk.own_file import reset

    book = this_book()
    exercise = chosen(book, name)
    own = book.show(exercise.own_file(book))
    if not yes:
        if not sys.stdin.isatty():
            raise DeskError(
                f"Nobody is here to be asked. To begin {own} again:\n"
                f"  workbook reset {exercise.id} --yes"
            )
        if not click.confirm(f"Move {own} aside and begin again?"):
            click.echo("Nothing was changed.")
            ctx.exit(1)
    aside = reset(book, exercise)
    click.echo(f"Your file is now {book.show(aside)}")
    click.echo(f"{own} is the starter again.")
    click.echo("Next      workbook check")
