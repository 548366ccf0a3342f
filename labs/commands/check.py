"""`workbook check`: do your files keep their promises?"""

from __future__ import annotations

import sys

import click


@click.command("check")
@click.argument("name", required=False, metavar="[NN/NAME]")
@click.option("--all", "everything", is_flag=True, help="Check every exercise you have started.")
@click.option("--watch", "watching", is_flag=True, help="Check again whenever you save the file.")
@click.pass_context
def command(ctx: click.Context, name: str | None, everything: bool, watching: bool) -> None:
    """Run the tests of an exercise on your file; without a name, of the one you started last.

    A failing check names the promise that is broken, the input that shows it, and where to read.
    --all writes work/progress.toml anew from your files.

    Exit codes: 0 passed; 1 not yet; 2 wrong usage.
    """
    from labs.desk.book import this_book
    from labs.desk.check import check, check_all, chosen
    from shared.screen import Screen

    if everything and (name or watching):
        raise click.UsageError("--all checks everything once: leave out the name and --watch.")
    book, screen = this_book(), Screen(sys.stdout)
    if everything:
        ctx.exit(0 if check_all(screen, book) else 1)
    exercise = chosen(book, name)
    if watching:
        from labs.desk.watch import watch

        own = exercise.own_file(book)
        watch(screen, own, book.show(own), lambda: check(screen, book, exercise))
        ctx.exit(0)
    ctx.exit(0 if check(screen, book, exercise) else 1)
