"""`workbook solution`: the reference solution, once you have your own."""

from __future__ import annotations

import sys

import click


@click.command("solution")
@click.argument("name", required=False, metavar="[NN/NAME]")
@click.option("--anyway", is_flag=True, help="Show it before your file has passed, and note that.")
@click.pass_context
def command(ctx: click.Context, name: str | None, anyway: bool) -> None:
    """Show the reference solution of an exercise that has passed.

    Without a name: of the one you started last. Nothing is hidden, the file lies in the exercise's
    folder; this asks once more whether you want to see it.
    """
    from dataclasses import replace

    from labs.desk.book import DeskError, this_book
    from labs.desk.check import chosen
    from labs.desk.exercises import find_exercise
    from labs.desk.page import show
    from labs.desk.progress_file import Entry, Seen, change, load

    book = this_book()
    exercise = find_exercise(book, name) if name else chosen(book, None)
    entry = load(book).get(exercise.id, Entry())
    if entry.passed is None and entry.solution is Seen.NO and not anyway:
        click.echo(f"{exercise.id} has not passed yet.\n", err=True)
        click.echo(f"A hint          workbook hint {exercise.id}", err=True)
        click.echo(f"See it anyway   workbook solution {exercise.id} --anyway", err=True)
        ctx.exit(1)
    click.echo(book.show(exercise.solution), err=True)
    code = exercise.solution.read_text(encoding="utf-8")
    if sys.stdout.isatty():
        show(f"`{book.show(exercise.solution)}`\n\n```python\n{code}```\n")
    else:
        click.echo(code, nl=False)
    if entry.solution is Seen.NO:
        when = Seen.AFTER_PASS if entry.passed else Seen.ANYWAY
        try:
            change(book, exercise, lambda old: replace(old, solution=when))
        except DeskError as error:  # reading needs no folder that can be written to
            click.echo(f"\nThat you saw it could not be noted. {error}", err=True)
