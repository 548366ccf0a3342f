"""Showing Markdown on a terminal: rendered for a screen, as it is for a pipe."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, ClassVar

import click

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown
    from rich.theme import Theme

WIDEST = 88  # columns of text that an eye still follows from line to line


def show(markdown: str, *, paged: bool = True) -> None:
    """Lay the text out on a terminal; anywhere else print it, so that it can be searched and cut.

    `paged` texts are long: they go through the reader's pager.
    """
    if not sys.stdout.isatty():
        click.echo(markdown, nl=False)
        return
    colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    text = render(markdown, terminal_width(), colours=colours)
    if paged:
        # None: click tells `less` to let colours through, and takes them out for other pagers.
        click.echo_via_pager(text, color=None if colours else False)
    else:
        click.echo(text, nl=False)


def terminal_width() -> int:
    """Columns to fill."""
    import shutil

    return min(shutil.get_terminal_size((80, 24)).columns, WIDEST)


def render(markdown: str, width: int, *, colours: bool) -> str:
    """The text laid out for `width` columns, in colours that can be read on light and dark."""
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=colours,
        color_system="standard" if colours else None,
        theme=theme(),
        legacy_windows=False,
    )
    console.print(book_markdown()(markdown, hyperlinks=False))
    return "".join(f"{_without_tail(line)}\n" for line in out.getvalue().splitlines())


def _without_tail(line: str) -> str:
    """The line without the blanks at its end, painted or not."""
    blank = re.search(r"(?:\s|\x1b\[[\d;]*m)+$", line)
    if blank is None:
        return line
    return line[: blank.start()] + ("\x1b[0m" if "\x1b" in blank.group() else "")


def book_markdown() -> type[Markdown]:
    """Rich's Markdown, but with code in weights and a few colours instead of on a black ground."""
    from pygments.token import (  # type: ignore[import-untyped]
        Comment,
        Keyword,
        Name,
        Number,
        String,
        Token,
    )
    from rich.markdown import CodeBlock, Markdown
    from rich.style import Style
    from rich.syntax import ANSISyntaxTheme, Syntax

    ink = ANSISyntaxTheme(
        {
            Token: Style(),
            Comment: Style(italic=True, dim=True),
            Keyword: Style(bold=True),
            Name.Function: Style(bold=True),
            Name.Class: Style(bold=True),
            Name.Decorator: Style(color="magenta"),
            Number: Style(color="magenta"),
            String: Style(color="green"),
        }
    )

    class Code(CodeBlock):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Syntax(
                str(self.text).rstrip(), self.lexer_name, theme=ink, word_wrap=True, padding=(0, 2)
            )

    class BookMarkdown(Markdown):
        elements: ClassVar = {**Markdown.elements, "fence": Code, "code_block": Code}

    return BookMarkdown


def theme() -> Theme:
    """Rich's own theme paints code on black, which a light terminal turns into bars."""
    from rich.theme import Theme

    return Theme(
        {
            "markdown.h1": "bold",
            "markdown.h2": "bold magenta",
            "markdown.h3": "bold",
            "markdown.h4": "bold italic",
            "markdown.code": "cyan",
            "markdown.code_block": "none",
            "markdown.block_quote": "none",
            "markdown.item.number": "bold",
            "markdown.link_url": "underline",
            "markdown.table.border": "dim",
            "markdown.table.header": "bold",
        }
    )
