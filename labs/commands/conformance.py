"""`workbook conformance`: does every adapter understand what providers really send?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.command("conformance", short_help="Play known answers of providers to the adapters.")
@click.argument("path", required=False, type=click.Path(path_type=Path))
@click.option("--adapter", metavar="NAME", help="Only the rows of one API, or one provider.")
@click.option("--mode", metavar="NAME", help="Only rows of this mode: stream, for example.")
@click.option("--live", is_flag=True, help="Ask the provider in your .env instead.")
@click.option("--provider", metavar="NAME", help="With --live: instead of WORKBOOK_PROVIDER.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of text.")
@click.pass_context
def command(
    ctx: click.Context,
    path: Path | None,
    adapter: str | None,
    mode: str | None,
    live: bool,
    provider: str | None,
    as_json: bool,
) -> None:
    """Play the rows of PATH to the real clients, on 127.0.0.1, and compare.

    PATH is a directory with an index.jsonl, or such a file: for example tests/vectors/wire, whose
    README says what a row is. A row is an answer of a provider, in one piece or in events, and how
    it has to be understood; a request that is refused and the one to send instead; or a schema and
    what strict decoding makes of it. No key is needed, and nothing leaves this computer.

    --adapter is an API (openai-chat, openai-responses, anthropic, gemini), or the name of a
    provider: then its record plays the rows of its API. --mode is one of nonstream, stream,
    request and schema.

    --live sends a real provider a few requests: calls, results, long and foreign text. How many is
    said beforehand, and to whom. A probe that fails names the field of the provider's record to
    try, where what the provider says tells which.

    With --json: {"ok": …, "adapters": {…}, "rows": [{"file", "outcome", "differences", …}]}; with
    --live {"ok": …, "probes": [{"name", "outcome", "seen"}]}.

    Exit codes: 0 everything that was played holds; 1 something does not; 2 wrong usage.
    """
    if live:
        if path or adapter or mode:
            raise click.UsageError("--live plays nothing: leave out PATH, --adapter and --mode.")
        ctx.exit(_ask(provider, as_json=as_json))
    if provider:
        raise click.UsageError("--provider goes with --live; to choose whose rows: --adapter.")
    if path is None:
        raise click.UsageError(
            "Say what to play, for example tests/vectors/wire, or --live for a real provider."
        )
    ctx.exit(_play(path, adapter, mode, as_json=as_json))


def _play(path: Path, adapter: str | None, mode: str | None, *, as_json: bool) -> int:
    import asyncio

    from chapters.ch04.conformance.adapters import chosen
    from chapters.ch04.conformance.rows import load
    from chapters.ch04.conformance.suite import run
    from chapters.ch04.conformance.table import as_json as verdicts_as_json
    from chapters.ch04.conformance.table import show
    from chapters.ch05.stream_conformance import PLAYERS
    from shared.screen import Screen

    choice = chosen(adapter)
    rows = [row for row in load(path) if mode in (None, row.mode)]
    verdicts = asyncio.run(run(rows, choice, PLAYERS))
    if not verdicts:
        asked = " and ".join(filter(None, [adapter, mode and f"the mode {mode}"]))
        raise click.UsageError(f"{path} has no rows for {asked}.")
    report = verdicts_as_json(verdicts)
    if as_json:
        click.echo(json.dumps(report, indent=2))
    else:
        show(Screen(sys.stdout), verdicts)
    return 0 if report["ok"] else 1


def _ask(provider: str | None, *, as_json: bool) -> int:
    import asyncio

    return asyncio.run(_ask_all(provider, as_json=as_json))


async def _ask_all(provider: str | None, *, as_json: bool) -> int:
    from chapters.ch04.conformance.live import REQUESTS, Seen, try_all
    from labs.kit import open_model
    from labs.provider import configured
    from shared.screen import Screen, Style
    from shared.text import visible

    settings = configured(provider=provider, chapter=4)
    screen, about = Screen(sys.stdout), Screen(sys.stderr)
    about.line(visible(f"Asking {settings.provider} for {settings.model}: {REQUESTS} requests."))
    findings = []
    async with open_model(settings, 4) as model:
        async for finding in try_all(model):
            findings.append(finding)
            if as_json:
                continue
            bad = finding.seen is Seen.FAILS
            screen.labelled(
                finding.seen,
                visible(f"{finding.name}: {finding.text}"),
                gutter=15,
                style=Style.BAD if bad else Style.PLAIN,
            )
    fine = all(finding.seen is Seen.HOLDS for finding in findings)
    if as_json:
        probes = [{"name": each.name, "outcome": each.seen, "seen": each.text} for each in findings]
        click.echo(json.dumps({"ok": fine, "probes": probes}, indent=2))
    else:
        held = sum(finding.seen is Seen.HOLDS for finding in findings)
        screen.line(f"\n{held} of {len(findings)} hold.")
    return 0 if fine else 1
