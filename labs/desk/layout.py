"""Laying Markdown out for a terminal: text that can be read, code that can be copied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from labs.desk.code_lines import folded
from labs.desk.proof_links import LISTED
from labs.desk.table_layout import table_element

if TYPE_CHECKING:
    from markdown_it.token import Token as MarkdownToken
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown
    from rich.theme import Theme

TEXT_WIDEST = 88  # columns of text that an eye still follows from line to line
CODE_WIDEST = 100  # columns of code that no line of this workbook exceeds


def render(markdown: str, columns: int, *, colours: bool) -> str:
    """The text laid out for a terminal, in colours that can be read on light and dark.

    Code may use more of the columns than text does.
    """
    from io import StringIO

    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out,
        width=min(columns, CODE_WIDEST),
        force_terminal=colours,
        color_system="standard" if colours else None,
        theme=theme(),
        legacy_windows=False,
    )
    text = book_markdown()(markdown, hyperlinks=False)
    console.print(text, width=min(columns, TEXT_WIDEST), crop=False)
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
        keeps_lines = False

        @classmethod
        def create(cls, markdown: Markdown, token: MarkdownToken) -> Code:
            made = cls(token.info.partition(" ")[0] or "text", markdown.code_theme)
            made.keeps_lines = LISTED in token.info.split()[1:]
            return made

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            whole = options.max_width >= min(console.width, TEXT_WIDEST)  # not in a list
            width = console.width if whole else options.max_width
            code = str(self.text).rstrip().expandtabs(4)
            text = Syntax(code, self.lexer_name, theme=ink).highlight(code)
            for line in text.split("\n", allow_blank=True)[: code.count("\n") + 1]:
                for piece in [line] if self.keeps_lines else folded(line, width):
                    piece.no_wrap, piece.overflow = True, "ignore"
                    yield piece

    class BookMarkdown(Markdown):
        elements: ClassVar = {
            **Markdown.elements,
            "fence": Code,
            "code_block": Code,
            "table_open": table_element(),
        }

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
