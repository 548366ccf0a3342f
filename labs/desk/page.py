"""Showing Markdown on a terminal: rendered for a screen, as it is for a pipe."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath

import click

# What `less` says at the foot of the screen; a backslash keeps its own signs for text.
PROMPT = "Space goes on, b goes back, /word searches, q leaves ?e(end):?pB(%pB\\%)..."


def show(markdown: str, *, paged: bool = True) -> None:
    """Lay the text out on a terminal; anywhere else print it, so that it can be searched and cut.

    `paged` texts are long: they go through the reader's pager.
    """
    if not at_a_screen():
        click.echo(markdown, nl=False)
        return
    from labs.desk.layout import render

    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    columns, rows = shutil.get_terminal_size((80, 24))
    text = render(markdown, columns, colours=colours)
    if paged and len(text.splitlines()) >= rows:
        # None: click sees whether the pager lets colours through, and takes them out if not.
        with less_that_explains_itself(os.environ):
            click.echo_via_pager(text, color=None if colours else False)
    else:
        click.echo(text, nl=False)


def at_a_screen() -> bool:
    """True if what is printed is seen, and not read by another program."""
    return sys.stdout.isatty()


@contextmanager
def less_that_explains_itself(environ: Mapping[str, str]) -> Iterator[None]:
    """In this block, `less` says how to go on and how to leave, unless the reader has set it up."""
    words = shlex.split(environ.get("PAGER", "")) or ["less"]
    if environ.get("LESS") or PurePath(words[0]).stem != "less":
        yield
        return
    os.environ["LESS"] = f"-R -Ps{PROMPT}"
    try:
        yield
    finally:
        del os.environ["LESS"]
