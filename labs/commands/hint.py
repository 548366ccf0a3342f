"""`workbook hint`: the next of three hints."""

from __future__ import annotations

import click


@click.command("hint")
@click.argument("name", required=False, metavar="[NN/NAME]")
@click.option("--seen", is_flag=True, help="Show the hints you have seen again, and no new one.")
def command(name: str | None, seen: bool) -> None:
    """Show the next hint: first a nudge, then an approach, then almost the code. One a call."""
    from dataclasses import replace

    from labs.desk.book import DeskError, this_book
    from labs.desk.check import chosen
    from labs.desk.hints import TIERS, read_hints
    from labs.desk.page import show
    from labs.desk.progress import Status, status
    from labs.desk.progress_file import Entry, change, load

    book = this_book()
    exercise = chosen(book, name)
    hints = read_hints(exercise)
    entry = load(book).get(exercise.id, Entry())
    if seen and not entry.hints:
        raise DeskError(f"You have seen no hint yet. The first:\n  workbook hint {exercise.id}")
    if not seen and status(book, exercise, entry) is Status.PASSED:
        click.echo(f"{exercise.id}: passed; see `workbook solution {exercise.id}`.")
        return
    if seen:
        wanted = range(1, min(entry.hints, TIERS) + 1)
    else:
        entry = change(book, exercise, lambda old: replace(old, hints=min(old.hints + 1, TIERS)))
        wanted = range(entry.hints, entry.hints + 1)
    for tier in wanted:
        show(f"**Hint {tier} of {TIERS}** for {exercise.id}\n\n{hints[tier - 1]}\n\n", paged=False)
    if entry.hints < TIERS:
        click.echo(f"Another   workbook hint {exercise.id}")
    else:
        click.echo(f"Solution  workbook solution {exercise.id} --anyway")
    click.echo(f"Next      workbook check {exercise.id}")
