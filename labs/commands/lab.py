"""`workbook lab`: the experiment that proves what a chapter claims."""

from __future__ import annotations

import sys

import click

from labs.chapter_number import CHAPTER


@click.command("lab", short_help="Run the lab of a chapter and check its facts.")
@click.argument("chapter", type=CHAPTER, metavar="N")
@click.option("--live", is_flag=True, help="Ask the model in your .env, not the scripted one.")
@click.option(
    "--provider", metavar="NAME", help="With --live: another provider than WORKBOOK_PROVIDER."
)
@click.option(
    "--fault",
    "faults",
    metavar="NAME",
    multiple=True,
    help="Let something go wrong on the way to the provider, from lab 5 on; all for each in turn.",
)
@click.option("--keep", is_flag=True, help="Keep the workspace afterwards, and say where it is.")
@click.pass_context
def command(
    ctx: click.Context,
    chapter: int,
    live: bool,
    provider: str | None,
    faults: tuple[str, ...],
    keep: bool,
) -> None:
    """Run the lab of chapter N: a real run of its agent, then the facts, each one checked.

    The loop, the tools and the files are real; the workspace is thrown away afterwards. The model
    is a script, so this needs no key and no network.

    Exit codes: 0 all facts hold; 1 one does not; 2 wrong usage or configuration.
    """
    import asyncio

    from labs.fault_option import the_one

    fault = the_one(faults, more="all runs each of them in turn.")
    if provider is not None and not live:
        raise click.UsageError("--provider goes with --live: without it, no provider is asked.")
    if fault is None:
        held = asyncio.run(_run(chapter, live=live, provider=provider, keep=keep))
    elif live:
        raise click.UsageError("--fault needs a provider that fails when it is told to: no --live.")
    else:
        held = asyncio.run(_run_fault(chapter, fault, keep=keep))
    ctx.exit(0 if held else 1)


async def _run(chapter: int, *, live: bool, provider: str | None, keep: bool) -> bool:
    from labs.catalog import lab_of

    lab = lab_of(chapter)
    if not live:
        return bool(await lab.run(live=None, keep=keep, out=sys.stdout))

    from labs.kit import open_model
    from labs.provider import configured

    settings = configured(provider=provider, chapter=chapter)
    async with open_model(settings, chapter) as model:
        return bool(await lab.run(live=model, keep=keep, out=sys.stdout))


async def _run_fault(chapter: int, name: str, *, keep: bool) -> bool:
    from labs.catalog import lab_of

    lab = lab_of(chapter)
    if not hasattr(lab, "run_fault"):
        raise click.UsageError(
            f"Lab {chapter} has no faults: they come with streaming, in `workbook lab 5`."
        )
    return bool(await lab.run_fault(name, keep=keep, out=sys.stdout))
