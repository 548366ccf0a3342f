"""The `workbook` command: finds its commands, loads the one that is asked for, and nothing else.

A file `labs/commands/NAME.py` that holds a click command called `command` is the command
`workbook NAME`. ORDER only sorts; a command it does not name comes after those it does.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from labs.packages import explain, foreign_packages

ORDER = (
    "list", "read", "show", "lab", "test",
    "exercise", "check", "hint", "solution", "reset", "quiz",
    "run", "audit", "conformance", "doctor", "dev",
)  # fmt: skip
FOLDER = Path(__file__).parent / "commands"

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


# region: group
class Commands(click.Group):
    """A group whose commands are files: each is imported when it is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands, in the order in which a reader meets them."""
        names = {file.stem for file in FOLDER.glob("*.py") if not file.name.startswith("_")}
        return [name for name in ORDER if name in names] + sorted(names.difference(ORDER))

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name, or None."""
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"labs.commands.{name}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command the first word names. An unknown one gets the nearest that exist."""
        names = self.list_commands(ctx)
        if args[0] not in names and not args[0].startswith("-"):
            from difflib import get_close_matches

            close = get_close_matches(args[0], names)
            hint = (
                f"Did you mean {' or '.join(f'`workbook {name}`' for name in close)}?"
                if close
                else f"The commands are: {', '.join(names)}."
            )
            ctx.fail(f"There is no command {args[0]!r}. {hint}")
        return super().resolve_command(ctx, args)


@click.command(cls=Commands, invoke_without_command=True)
@click.version_option(package_name="agent-workbook", message="Agent Workbook %(version)s")
@click.pass_context
def workbook(ctx: click.Context) -> None:
    """Build a coding agent, chapter by chapter, and understand every line of it.

    Start with `workbook lab 1`: it needs no key and no network. `workbook` alone says where you
    are. Every command explains itself: workbook COMMAND --help.
    """
    if ctx.invoked_subcommand is None:
        from labs.whereabouts import show

        show()


# endregion: group


def main(args: Sequence[str] | None = None, *, standalone_mode: bool = True) -> int:
    """Run one command line. Ends the process, or returns the exit code if not `standalone_mode`."""
    code = _run(workbook, list(sys.argv[1:] if args is None else args), "workbook")
    if standalone_mode:
        sys.exit(code)
    return code


def run_chapter(package: str) -> None:
    """`python -m chapters.ch02 …`: the same as `workbook run --chapter 2 …`. Ends the process."""
    from labs.commands.run import command

    chapter = package.rpartition(".ch")[2]
    sys.exit(_run(command, ["--chapter", chapter, *sys.argv[1:]], f"python -m {package}"))


def _run(command: click.Command, words: list[str], prog_name: str) -> int:
    _replace_closed_streams()
    _spell_out_what_cannot_be_shown()
    try:
        Path.cwd()
    except FileNotFoundError:
        _complain("The directory you are in was deleted. Go to another one: cd ~")
        return USAGE
    foreign = foreign_packages()
    if foreign and words[:1] != ["doctor"]:  # the doctor says it too, and what else is wrong
        click.echo(explain(foreign), err=True)
        return USAGE
    try:
        code = command.main(words, prog_name=prog_name, standalone_mode=False)
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        _complain(
            f"Error: {error.format_message()}"
            + (f"\nHelp:  {context.command_path} --help" if context else "")
        )
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("\nInterrupted.", err=True)
        return INTERRUPTED
    except SystemExit as end:  # click's way out when nobody reads what is printed
        return end.code if isinstance(end.code, int) else FAILED
    except BrokenPipeError:  # nobody reads what is printed, as in `workbook lab 2 | head -1`
        _replace_closed_streams(closed=True)
        return FAILED
    except Exception as error:
        from shared.errors import RunError, WorkbookError

        if isinstance(error, OSError) and _cannot_print(error):
            _replace_closed_streams(closed=True)
            return FAILED
        if not isinstance(error, WorkbookError):
            raise
        _complain(str(error))
        return FAILED if isinstance(error, RunError) else USAGE
    return code if isinstance(code, int) else DONE


def _complain(message: str) -> None:
    """Write to stderr what is wrong. A line to copy, which is indented, is not broken."""
    from shared.screen import Screen, fold
    from shared.text import visible

    screen = Screen(sys.stderr)
    for line in visible(message).split("\n"):
        for piece in [line] if line.startswith("  ") else fold(line, screen.width):
            screen.line(piece)


def _cannot_print(error: OSError) -> bool:
    """True, and the reason is said if that is possible, if standard output takes no more."""
    import errno
    from contextlib import suppress

    if error.filename is not None or error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
        return False
    with suppress(OSError):
        _complain(f"What there is to say cannot be written: {error.strerror}.")
    return True


def _replace_closed_streams(*, closed: bool = False) -> None:
    """Give a program that was started without a stream, or has lost it, one that leads nowhere.

    Otherwise the first word printed ends it, or the interpreter complains when it flushes.
    """
    for name in ("stdout", "stderr"):
        if closed or getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123


def _spell_out_what_cannot_be_shown() -> None:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
