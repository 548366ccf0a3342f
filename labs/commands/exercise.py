"""`workbook exercise`: see the exercises, start one."""

from __future__ import annotations

import sys

import click

from shared.screen import Screen, Style


@click.command("exercise")
@click.argument("name", required=False, metavar="[NN/NAME]")
@click.option("--read", "only_read", is_flag=True, help="Show what is to be built; start nothing.")
def command(name: str | None, only_read: bool) -> None:
    """List the exercises, or start one: its starter becomes your file in work/.

    `workbook exercise 2/append_file` starts; the name alone will do if it is unique. Your file is
    never overwritten.
    """
    from labs.desk.book import DeskError, this_book
    from labs.desk.exercises import find_exercise
    from labs.desk.own_file import start

    book = this_book()
    screen = Screen(sys.stdout)
    if name is None:
        if only_read:
            raise DeskError("Say which one:\n  workbook exercise NN/name --read")
        _list(screen)
        return
    exercise = find_exercise(book, name)
    if only_read:
        from labs.desk.page import show
        from labs.desk.terminal_text import for_terminal

        text = exercise.statement.read_text(encoding="utf-8")
        show(for_terminal(text, folder=book.show(exercise.folder), answers=None))
        return
    own = start(book, exercise)
    screen.line(f"{exercise.id}: {exercise.title}", Style.STRONG)
    screen.line()
    screen.line(f"Read      {book.show(exercise.statement)}")
    screen.line(f"          workbook exercise {exercise.id} --read")
    screen.line(f"Write     {book.show(own)}:{_first_task(own.read_text(encoding='utf-8'))}")
    screen.line("Next      workbook check")


def _first_task(starter: str) -> int:
    lines = starter.splitlines()
    return next((n for n, line in enumerate(lines, start=1) if "# TODO:" in line), 1)


def _list(screen: Screen) -> None:
    from labs.desk.book import this_book
    from labs.desk.exercises import all_exercises
    from labs.desk.progress import Status, next_step, status
    from labs.desk.progress_file import load

    book = this_book()
    entries = load(book)
    exercises = all_exercises(book)
    if not exercises:
        screen.line("There are no exercises yet.")
        return
    wide = max(len(exercise.id) for exercise in exercises) + 2
    styles = {Status.PASSED: Style.GOOD, Status.STARTED: Style.CALL, Status.CHANGED: Style.CALL}
    shown = 0
    for exercise in exercises:
        if exercise.chapter != shown:
            shown = exercise.chapter
            screen.line(f"Chapter {shown}", Style.STRONG)
        state = status(book, exercise, entries.get(exercise.id))
        screen.labelled(f"  {exercise.id}", exercise.title, gutter=wide + 2)
        if state is not Status.NOT_STARTED:
            note = f"{state}: {book.show(exercise.own_file(book))}"
            screen.line(" " * (wide + 2) + screen.paint(note, styles[state]))
    following = next_step(book)
    command = following.command if following else f"workbook exercise {exercises[0].id}"
    screen.line()
    screen.line(f"Next      {command or 'workbook list'}")
