"""`workbook doctor`: is everything there that the workbook needs?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from labs.doctor import Finding

WIDEST_NAME = 20  # columns: a longer one would leave no room for what is said of it


@click.command("doctor", short_help="Check what the workbook needs.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object instead of text.")
@click.option("--live", is_flag=True, help="Also send one tiny request to the model in your .env.")
@click.option("--provider", metavar="NAME", help="Another provider than WORKBOOK_PROVIDER.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, live: bool, provider: str | None) -> None:
    """Check what the workbook needs: Python, packages, shell, settings, terminal.

    Says which provider is chosen, which settings there are and where they come from, never what is
    in them.

    With --json: {"ok": …, "findings": [{"name", "status", "text"}]}, status ok, note or bad.

    Exit codes: 0 everything needed is there; 1 something is in the way.
    """
    from labs.doctor import Status, examine

    findings = list(examine(provider=provider, live=live))
    if live:
        findings.append(_live(findings, provider))
    fine = all(finding.status is not Status.BAD for finding in findings)
    if as_json:
        rows = [
            {"name": each.name, "status": each.status.value, "text": each.text} for each in findings
        ]
        click.echo(json.dumps({"ok": fine, "findings": rows}, indent=2))
    else:
        _print(findings, fine)
    ctx.exit(0 if fine else 1)


def _live(findings: list[Finding], provider: str | None) -> Finding:
    import asyncio

    from labs.doctor import Finding, Status, try_live

    needed = {"python", "packages", "dependencies", "settings"}
    if any(each.name in needed and each.status is Status.BAD for each in findings):
        return Finding("live", Status.NOTE, "Not tried: something else has to be put right first.")
    return asyncio.run(try_live(provider=provider))


def _print(findings: list[Finding], fine: bool) -> None:
    names = [len(finding.name) for finding in findings]
    gutter = 2 + max(length for length in names if length <= WIDEST_NAME)
    for finding in findings:
        for piece in _folded(finding, gutter):
            click.echo(piece)
    click.echo()
    click.echo("All is well." if fine else "Something is in the way: see the lines marked BAD.")


def _folded(finding: Finding, gutter: int) -> list[str]:
    marks = {"ok": "ok  ", "note": "note", "bad": "BAD "}
    left = f"{marks[finding.status]}  {finding.name.ljust(gutter)}"
    margin = " " * (6 + gutter)
    try:
        import sys

        from shared.screen import Screen, fold
        from shared.text import visible

        width = Screen(sys.stdout).width
        pieces = list(fold(visible(finding.text), width - len(margin)))
    except ImportError:  # another project's `shared`: the doctor works without ours
        pieces = finding.text.split("\n")
    below = [f"{margin}{piece}" for piece in pieces]
    if len(left) > len(margin):
        return [left, *below]
    return [f"{left}{pieces[0]}", *below[1:]]
