"""`workbook lab`: the experiment that proves what a chapter claims."""

from __future__ import annotations

import sys

import click

from labs.chapter_number import CHAPTER


@click.command("lab", short_help="Run the lab of a chapter and check its facts.")
@click.argument("chapter", type=CHAPTER, metavar="N")
@click.option("--live", is_flag=True, help="Ask the model in your .env, not the scripted one.")
@click.option("--keep", is_flag=True, help="Keep the workspace afterwards, and say where it is.")
@click.pass_context
def command(ctx: click.Context, chapter: int, live: bool, keep: bool) -> None:
    """Run the lab of chapter N: a real run of its agent, then the facts, each one checked.

    The loop, the tools and the files are real; the workspace is thrown away afterwards. The model
    is a script, so this needs no key and no network.

    Exit codes: 0 all facts hold; 1 one does not; 2 wrong usage or configuration.
    """
    import asyncio

    ctx.exit(0 if asyncio.run(_run(chapter, live=live, keep=keep)) else 1)


async def _run(chapter: int, *, live: bool, keep: bool) -> bool:
    from labs.catalog import lab_of

    lab = lab_of(chapter)
    if not live:
        return bool(await lab.run(live=None, keep=keep, out=sys.stdout))

    from labs.kit import open_model
    from labs.provider import configured

    async with open_model(configured(chapter=chapter)) as model:
        return bool(await lab.run(live=model, keep=keep, out=sys.stdout))
