"""The option --fault: one name, though a command line has room for two."""

from __future__ import annotations

from collections.abc import Sequence

import click


def the_one(names: Sequence[str], *, more: str) -> str | None:
    """The one name, or None. Raises UsageError for several; `more` says what to do instead."""
    if len(names) > 1:
        raise click.UsageError(f"--fault was given {len(names)} times: {more}")
    return names[0] if names else None
