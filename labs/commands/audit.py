"""`workbook audit`: what was decided about tool calls, by whom, and why."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click


@click.command("audit", short_help="Show what was allowed and what was denied.")
@click.argument("path", required=False, metavar="[PATH]")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Only the last N decisions.")
@click.pass_context
def command(ctx: click.Context, path: str | None, last: int | None) -> None:
    """Show the audit at PATH; without PATH, the one that `workbook run` writes to.

    From chapter 3 on, every decision about a tool call is one line of that file: may the call run,
    who says so, and why. It was on the disk before the tool ran.

    \b
      allow   write_file (write)  2026-01-31 09:30:00 UTC  call_2
              path: drafts/word.txt
              content: amber\\n
              rules, rule 1 (policy): the rules file says allow

    That is: the decision; the tool, its effect, the time and the id of the call; its arguments,
    where [redacted] stands for a secret; the source of the decision, who decided, and the reason.
    Long arguments are shortened here, not in the file.

    Who decided is: policy, if nobody had to be asked; person, if somebody answered; nobody, if no
    answer came, which is a no; --approve always, if that option answered.

    Exit codes: 0 read; 1 a line is broken; 2 wrong usage, or there is no such file.
    """
    from labs.audit_place import default_place
    from labs.audit_view import show
    from shared.screen import Screen

    place = default_place() if path is None else Path(path)
    broken = show(_lines(place, named=path is not None), Screen(sys.stdout), last=last)
    ctx.exit(1 if broken else 0)


def _lines(place: Path, *, named: bool) -> Iterator[bytes]:
    """The lines of the file. A usage error is about the file alone, never about the output."""
    from labs.audit_view import pieces

    try:
        with place.open("rb") as file:
            yield from pieces(file)
    except (OSError, ValueError) as error:
        raise click.UsageError(_why_not(place, error, named=named)) from None


def _why_not(place: Path, error: Exception, *, named: bool) -> str:
    from shared.text import shorten

    if isinstance(error, FileNotFoundError):
        if named:
            return f"There is no {str(place)!r}. `workbook run` says where it writes its audit."
        return (
            f"There is no audit yet. One begins at {place} with the first run of chapter 3:\n"
            '  workbook run --chapter 3 --model human --prompt "list the files"'
        )
    reason = getattr(error, "strerror", None) or "no file can be called that"
    return f"{shorten(str(place), 200)!r} cannot be read: {reason}."
