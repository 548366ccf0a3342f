"""Tables on a terminal: columns if they fit, else a small list for each row. Nothing is cut off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import TableElement
    from rich.text import Text

GAP = 2  # columns between two columns
TALLEST = 6  # lines that a cell may take before its row is easier to read as a list


def table_element() -> type[TableElement]:
    """Rich's table, which would shorten what does not fit, in a form that folds it."""
    from rich import box
    from rich.markdown import TableElement
    from rich.table import Table

    class BookTable(TableElement):
        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            header = self.header.row.cells if self.header and self.header.row else []
            rows = (
                [[cell.content for cell in row.cells] for row in self.body.rows if row.cells]
                if (self.body)
                else []
            )
            heads = [cell.content.copy() for cell in header]
            for head in heads:
                head.stylize("markdown.table.header")
            widths = column_widths([heads, *rows], options.max_width)
            if widths is None:
                yield from as_lists(heads, rows, console, options.max_width)
                return
            table = Table(
                box=box.SIMPLE,
                pad_edge=False,
                style="markdown.table.border",
                show_edge=False,
                collapse_padding=True,
            )
            for head, width in zip(heads, widths, strict=True):
                table.add_column(head, overflow="fold", width=width)
            for row in rows:
                table.add_row(*row)
            yield table

    return BookTable


def column_widths(rows: Sequence[Sequence[Text]], width: int) -> list[int] | None:
    """A width for each column, the widest made narrower until all fit; None if they cannot.

    No column gets narrower than its longest word.
    """
    from rich.cells import cell_len

    columns = list(zip(*rows, strict=False))
    most = [max(1, *(cell.cell_len for cell in column)) for column in columns]
    least = [
        max(1, *(cell_len(word) for cell in column for word in cell.plain.split() or [""]))
        for column in columns
    ]
    space = width - GAP * (len(columns) - 1) - 2
    for cap in range(max(most, default=1), 0, -1):
        widths = [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]
        if sum(widths) <= space:
            break
    else:
        return None
    tall = any(
        cell.cell_len > TALLEST * given
        for column, given in zip(columns, widths, strict=True)
        for cell in column
    )
    return None if tall else widths


def as_lists(
    heads: Sequence[Text], rows: Sequence[Sequence[Text]], console: Console, width: int
) -> Iterator[Text]:
    """Each row as its first cell, and under it the others with their headings."""
    from rich.text import Text

    for place, (first, *others) in enumerate(rows):
        if place:
            yield Text("")
        if first.plain.strip():
            bold = first.copy()
            bold.stylize("markdown.table.header")
            yield bold
        for head, cell in zip(heads[1:], others, strict=False):
            if not cell.plain.strip():
                continue
            label = Text.assemble(head.plain, ": ") if head.plain.strip() else Text("")
            lines = label.append_text(cell).wrap(console, width - 4, overflow="fold")
            for number, line in enumerate(lines):
                yield Text("    " if number else "  ").append_text(line)
