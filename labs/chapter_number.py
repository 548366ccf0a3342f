"""A chapter on the command line: `2`, `02` and `ch02` are the same."""

from __future__ import annotations

import re

import click

from labs.catalog import chapter_numbers


class ChapterNumber(click.ParamType):  # type: ignore[type-arg]
    """The number of a chapter that exists."""

    name = "N"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        """The number, or a usage error that lists the chapters."""
        match = re.fullmatch(r"(?:ch)?0*(\d{1,4})", str(value).strip().lower())
        numbers = chapter_numbers()
        if match is None or int(match[1]) not in numbers:
            known = ", ".join(map(str, numbers))
            self.fail(f"there is no {str(value)!r}. The chapters are: {known}.", param, ctx)
        return int(match[1])


CHAPTER = ChapterNumber()
