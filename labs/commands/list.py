"""`workbook list`: the chapters, what each adds, the tools so far."""

from __future__ import annotations

import sys

import click

from labs.catalog import chapter_numbers, lab_modules, profile_of
from shared.plan import Profile
from shared.screen import Screen, Style

GUTTER = 10


@click.command("list", short_help="List the chapters and what each adds.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list instead of text.")
def command(as_json: bool) -> None:
    """List the chapters: what each adds, and the tools of its agent.

    A + marks the tools that are new in a chapter.

    With --json, a list of objects {chapter, title, adds, tools, new_tools, lab}; `lab` says whether
    `workbook lab N` exists.
    """
    profiles = [profile_of(number) for number in chapter_numbers()]
    if as_json:
        import json

        labs = lab_modules()
        rows = [
            {
                "chapter": profile.chapter,
                "title": profile.title,
                "adds": profile.adds,
                "tools": profile.tools,
                "new_tools": new,
                "lab": profile.chapter in labs,
            }
            for profile, new in _with_new_tools(profiles)
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    screen = Screen(sys.stdout)
    for profile, new in _with_new_tools(profiles):
        screen.line(f"{profile.chapter:2}  {profile.title}", Style.STRONG)
        screen.labelled("    adds", ", ".join(profile.adds), gutter=GUTTER)
        tools = [f"+{name}" if name in new else name for name in profile.tools]
        screen.labelled("    tools", ", ".join(tools), gutter=GUTTER)
    screen.line()
    screen.line("Next:  workbook show N   what is in the agent of a chapter")
    screen.line("       workbook lab N    see it work, without a key")


def _with_new_tools(profiles: list[Profile]) -> list[tuple[Profile, list[str]]]:
    before: tuple[str, ...] = ()
    rows = []
    for profile in profiles:
        rows.append((profile, [name for name in profile.tools if name not in before]))
        before = profile.tools
    return rows
