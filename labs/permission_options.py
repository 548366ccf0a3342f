"""What --yes, --approve, --rules and --audit mean together, and for which chapters."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import click


class Approve(StrEnum):
    """Who answers the questions of a run: you, or a yes or a no that you have said beforehand."""

    ASK = "ask"
    NEVER = "never"
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Permissions:
    """What a run may do and where that is written down; rules and audit begin with chapter 3."""

    approve: Approve = Approve.ASK
    rules: Path | None = None
    audit: Path | None = None


def permissions_of(
    chapter: int,
    workspace: Path,
    *,
    yes: bool,
    approve: str | None,
    rules: str | None,
    audit: str | None,
) -> Permissions:
    """The permissions of a run. Raises a usage error, or ConfigError for a place of the audit."""
    answers = _answers(yes, approve)
    if not _has_policy(chapter):
        for option, value in (("--rules", rules), ("--audit", audit)):
            if value is not None:
                raise click.UsageError(
                    f"{option} begins with chapter 3; the agent of chapter {chapter} has no rules "
                    "and no audit. --approve works in every chapter."
                )
        return Permissions(answers)

    from labs.audit_place import default_place, prepare

    named = None if rules is None else _existing_file(rules)
    place = default_place() if audit is None else Path(audit)
    if named is not None and _same(named, place):
        raise click.UsageError(
            "--rules and --audit name the same file: the first decision would break your rules. "
            "Name another file with --audit FILE."
        )
    return Permissions(answers, named, prepare(place, workspace))


def _answers(yes: bool, approve: str | None) -> Approve:
    if yes and approve not in (None, Approve.ALWAYS):
        raise click.UsageError(
            f"--yes is --approve always, and you have also said --approve {approve}. "
            "Leave out one of them."
        )
    return Approve.ALWAYS if yes else Approve(approve or Approve.ASK)


def _has_policy(chapter: int) -> bool:
    from labs.catalog import profile_of

    return "permissions" in profile_of(chapter).capabilities


def _existing_file(name: str) -> Path:
    from shared.text import shorten

    path = Path(name)
    try:
        if path.is_file():
            return path
        problem = "is no file" if path.exists() else "does not exist"
    except (OSError, ValueError) as error:  # too long, or a character no name may have
        reason = getattr(error, "strerror", None) or "no file can be called that"
        problem = f"cannot be read: {reason}"
    raise click.BadParameter(f"{shorten(name, 200)!r} {problem}.", param_hint="--rules")


def _same(path: Path, other: Path) -> bool:
    try:
        return os.path.samefile(path, other)  # noqa: PTH121
    except (OSError, ValueError):  # there is no such file, so it is not this one
        return False
