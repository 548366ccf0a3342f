"""`workbook run`: one task for the agent of a chapter, in a directory, with a real model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from labs.chapter_number import CHAPTER

if TYPE_CHECKING:
    from labs.task import Outcome, Task
    from shared.messages import Usage
    from shared.screen import Screen

FIRST_WITH_FAULTS = 5  # the chapter
EXAMPLE = '--prompt "list the files"'


@click.command("run", short_help="Give the agent of a chapter one task.")
@click.option("--chapter", type=CHAPTER, required=True, help="Whose agent: 1, 2, and so on.")
@click.option(
    "--prompt", metavar="TEXT", required=True, help="What to do. A - reads it from standard input."
)
@click.option(
    "--workspace",
    metavar="DIR",
    default=".",
    help="Where the agent works. Without this: the current directory.",
)
@click.option(
    "--provider",
    metavar="NAME",
    help="Another provider than WORKBOOK_PROVIDER; see .env.example for their names.",
)
@click.option(
    "--model",
    metavar="NAME",
    help="Another model than WORKBOOK_MODEL. The name human is you: no key needed.",
)
@click.option(
    "--max-turns",
    metavar="K",
    type=int,
    default=20,
    show_default=True,
    help="How often the model may be asked.",
)
@click.option(
    "--approve",
    type=click.Choice(["ask", "never", "always"]),
    metavar="WHO",
    help="Who answers questions: ask (you; the default), never (no to all), always (yes to all).",
)
@click.option("--yes", is_flag=True, help="The same as --approve always: commands run unasked.")
@click.option(
    "--rules",
    metavar="FILE",
    help="Your rules, from chapter 3 on. No rules file is read unless it is named here.",
)
@click.option(
    "--audit",
    metavar="FILE",
    help="Where decisions are written down, from chapter 3 on. Must be outside of the workspace.",
)
@click.option(
    "--fault",
    "faults",
    metavar="NAME",
    multiple=True,
    help="Let something go wrong on the way to the provider, from chapter 5 on. A script answers.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object in place of the answer.")
@click.pass_context
def command(
    ctx: click.Context,
    chapter: int,
    prompt: str,
    workspace: str,
    provider: str | None,
    model: str | None,
    max_turns: int,
    approve: str | None,
    yes: bool,
    rules: str | None,
    audit: str | None,
    faults: tuple[str, ...],
    as_json: bool,
) -> None:
    """Give the agent of a chapter one task, and let it work until it answers.

    The answer goes to standard output, what happens on the way to standard error. You are asked
    before a shell command runs, and from chapter 3 on before a file is written. The shell is no
    sandbox: a command can do whatever you can do.

    \b
      workbook run --chapter 2 --prompt "what is in README.md?"
      workbook run --chapter 2 --prompt "list the files" --model human
      git log -5 | workbook run --chapter 1 --prompt - > summary.txt
      workbook run --chapter 3 --prompt "tidy up" --rules ~/rules.toml

    The model is the one in your .env; see .env.example. With --model human you are the model: you
    see what a model would see, and answer with text or tool calls.

    From chapter 3 on, every decision is written down before it counts, in a file that `workbook
    audit` prints. A rules file that lies in a workspace allows nothing by lying there: it is read
    only if you name it with --rules. A broken one stops the run before it begins.

    With --fault the provider is a script on this computer, whatever you ask: no key is needed. It
    wants to write a file with a random name, and its first reply is spoilt. `workbook lab 5 --fault
    NAME` does the same in a workspace of its own, and checks what came of it.

    With --json, standard output holds one object:

    \b
      answer   the final text; null if there is none
      partial  what came of a reply that broke off; mostly ""
      turns    how often the model was asked
      usage    {"input_tokens": …, "output_tokens": …} in all; null if unknown;
               "cached_tokens": … besides, if some of the input came from a cache
      error    null, or {"type": …, "message": …}
      exit     the exit code

    Exit codes: 0 done; 1 the run failed (turn limit, reply cut off or refused, provider error);
    2 wrong usage or configuration, and nothing is printed to standard output; 130 interrupted.
    """
    from labs.announcement import announce
    from labs.fault_option import the_one
    from labs.permission_options import permissions_of
    from labs.provider import configured
    from labs.task import Task
    from shared.config import HUMAN
    from shared.screen import Screen

    fault = the_one(faults, more="one run has one of them.")
    folder = _existing_directory(workspace)
    if max_turns < 1:
        raise click.BadParameter(
            "at least 1: how often may the model be asked?", param_hint="--max-turns"
        )
    human = model == HUMAN
    if human and prompt == "-":
        raise click.UsageError(
            "With --prompt - and --model human, the task and your replies would both come from "
            f"standard input. Give the task here: {EXAMPLE}"
        )
    text = _checked(_standard_input() if prompt == "-" else prompt)
    if fault is not None:
        _check_fault(fault, chapter, alone=provider is None and model is None)
    if human and provider is not None:
        raise click.UsageError("With --model human nobody else is asked: leave out --provider.")
    scripted = human or fault is not None
    settings = None if scripted else configured(provider=provider, model=model, chapter=chapter)
    permissions = permissions_of(
        chapter, folder, yes=yes, approve=approve, rules=rules, audit=audit
    )
    task = Task(chapter, text, folder, settings, max_turns, permissions, fault)
    screen = Screen(sys.stderr)
    announce(task, screen, said="--yes" if yes else f"--approve {permissions.approve}")
    if fault is not None:
        _announce_fault(fault, screen)
    outcome = _perform(task)
    _report(outcome, screen, as_json=as_json)
    ctx.exit(outcome.exit)


def _check_fault(name: str, chapter: int, *, alone: bool) -> None:
    from labs.faults import fault_named

    fault_named(name)
    if chapter < FIRST_WITH_FAULTS:
        raise click.UsageError(
            f"--fault needs an agent whose replies are streamed: --chapter {FIRST_WITH_FAULTS}, or "
            "a later one."
        )
    if not alone:
        raise click.UsageError("With --fault a script answers: leave out --provider and --model.")


def _announce_fault(name: str, screen: Screen) -> None:
    from labs.fault_lab import announce
    from labs.faults import fault_named

    screen.folded(f"fault {name}: the provider is a script on this computer, whatever you ask")
    announce(fault_named(name), screen)


def _existing_directory(name: str) -> Path:
    folder = Path(name)
    try:
        found, is_folder = folder.exists(), folder.is_dir()
    except (OSError, ValueError) as error:  # too long, or a character no name may have
        reason = getattr(error, "strerror", None) or "no directory can be called that"
        raise click.BadParameter(f"{reason}.", param_hint="--workspace") from None
    if is_folder:
        return folder
    if found:
        problem = f"{name!r} is a file. Name the directory that it is in."
    else:
        problem = f"there is no {name!r}. Make it first, or leave this out to work right here."
    raise click.BadParameter(problem, param_hint="--workspace")


def _standard_input() -> str:
    if sys.stdin is None:
        raise _bad_prompt("standard input is closed, so it cannot be read from there.")
    stream = sys.stdin.buffer
    if stream.isatty():
        click.echo("Type the task, then Ctrl-D on a line of its own.", err=True)
    try:
        return stream.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _bad_prompt("standard input is not UTF-8 text.") from None


def _checked(prompt: str) -> str:
    if not prompt.strip():
        raise _bad_prompt(f"it is empty. Say what to do: {EXAMPLE}")
    try:
        prompt.encode()
    except UnicodeEncodeError:
        raise _bad_prompt("it is not UTF-8 text.") from None
    return prompt


def _bad_prompt(problem: str) -> click.BadParameter:
    return click.BadParameter(problem, param_hint="--prompt")


def _perform(task: Task) -> Outcome:
    from labs.task import perform

    try:
        return perform(task)
    except OSError as error:  # of the workspace: what goes wrong in a tool is a result
        reason = error.strerror or type(error).__name__
        raise click.BadParameter(
            f"{str(task.workspace)!r} cannot be opened: {reason}.", param_hint="--workspace"
        ) from None


def _report(outcome: Outcome, screen: Screen, *, as_json: bool) -> None:
    from shared.screen import Style
    from shared.text import visible

    if outcome.partial.strip():
        screen.labelled("partial", visible(outcome.partial.strip("\n")), style=Style.STRONG)
    if outcome.message is not None:
        if outcome.exit == 130 and sys.stderr.isatty():
            screen.line()  # the terminal has written ^C
        screen.folded(visible(outcome.message), Style.BAD)
    if as_json:
        click.echo(_as_json(outcome))
    elif outcome.answer is not None and not (outcome.seen and sys.stdout.isatty()):
        answer = outcome.answer
        click.echo(visible(answer) if sys.stdout.isatty() else answer)


def _as_json(outcome: Outcome) -> str:
    error = {"type": outcome.error, "message": outcome.message} if outcome.error else None
    return json.dumps(
        {
            "answer": outcome.answer,
            "partial": outcome.partial,
            "turns": outcome.turns,
            "usage": outcome.usage and _counted(outcome.usage),
            "error": error,
            "exit": outcome.exit,
        }
    )


def _counted(usage: Usage) -> dict[str, int]:
    counted = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return counted | ({"cached_tokens": usage.cached_tokens} if usage.cached_tokens else {})
