"""`workbook show`: what is in the agent of a chapter, and what of it is new there."""

from __future__ import annotations

import sys

import click

from labs.chapter_number import CHAPTER


@click.command("show", short_help="Show what is in the agent of a chapter.")
@click.argument("chapter", type=CHAPTER, metavar="N")
def command(chapter: int) -> None:
    """Show the agent of chapter N from the outside in: layers, tools, sources, listeners.

    A + marks what chapter N adds to the agent of the chapter before. Each tool has its effect,
    which is the worst a call of it can do: read, write, execute or external. Nothing runs.
    """
    from labs.catalog import chapter_numbers, plan_of, profile_of
    from labs.onion import draw, skins
    from labs.provider import model_up_to
    from labs.unplugged import unplugged_kit
    from shared.screen import Screen, Style

    kit = unplugged_kit()
    earlier = [number for number in chapter_numbers() if number < chapter]
    before = plan_of(earlier[-1])(kit) if earlier else None
    profile = profile_of(chapter)

    screen = Screen(sys.stdout)
    screen.line(f"Chapter {chapter}: {profile.title}", Style.STRONG)
    screen.line(f"adds {', '.join(profile.adds)}; marked with a +")
    screen.line()
    model, old_model = (model_up_to(number) for number in (chapter, chapter - 1))
    draw(skins(plan_of(chapter)(kit), before, model=model, old_model=old_model), screen)
    screen.line()
    screen.line(f"Next:  workbook lab {chapter}    see it work, without a key")
