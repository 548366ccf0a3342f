"""`RiskTiers`: a table says how risky a call is, and what is not in the table is risky."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from chapters.ch02.glob_pattern import GlobPattern
from chapters.ch02.safe_path import parse_path, parse_pattern
from chapters.ch03.command_prefix import begins_with
from chapters.ch03.paths import workspace_paths
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, PreparedCall

NAME = "risk"


class Tier(IntEnum):
    """How risky a call is: a higher one is more."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3


@dataclass(frozen=True, slots=True)
class Risk:
    """A tier, and why."""

    tier: Tier
    why: str


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the calls with this effect, path and command, and how risky they are.

    `path` is a pattern as for `glob`, `command` the first words of a simple command. What a row
    does not name does not matter to it.
    """

    risk: Risk
    effect: Effect
    path: str | None = None
    command: str | None = None


UNKNOWN = Risk(Tier.HIGH, "it is not in the table")
NOT_SIMPLE = Risk(Tier.HIGH, "it is not one simple command")
NOWHERE = Risk(Tier.HIGH, "nobody can tell where its path leads")

# Example of a small project. The order means nothing; what is not listed is high.
TABLE = (
    Row(Risk(Tier.LOW, "reading changes nothing"), Effect.READ),
    Row(Risk(Tier.HIGH, "what is read goes to the provider"), Effect.READ, path="**/.env"),
    Row(Risk(Tier.LOW, "prose is easily put right"), Effect.WRITE, path="docs/**"),
    Row(Risk(Tier.MEDIUM, "it will be run"), Effect.WRITE, path="src/**"),
    Row(Risk(Tier.MEDIUM, "it will be run"), Effect.WRITE, path="tests/**"),
    Row(Risk(Tier.HIGH, "it is generated"), Effect.WRITE, path="docs/api/**"),
    Row(Risk(Tier.LOW, "it only looks"), Effect.EXECUTE, command="git status"),
    Row(Risk(Tier.MEDIUM, "it runs what was written"), Effect.EXECUTE, command="python -m pytest"),
)

SAYS = {Tier.LOW: Behaviour.PASS, Tier.MEDIUM: Behaviour.ASK, Tier.HIGH: Behaviour.DENY}


class RiskTiers:
    """Low passes, medium asks, high denies."""

    name = NAME

    def __init__(self, table: Sequence[Row], files: WorkspaceFiles) -> None:
        self._table = tuple(table)
        self._files = files

    async def decide(self, prepared: PreparedCall) -> Decision:
        """What the risk of the call says, and why it is that high."""
        risk = await self._risk(prepared)
        reason = f"its risk is {risk.tier.name.lower()}: {risk.why}"
        return Decision(SAYS[risk.tier], reason, self.name)

    async def _risk(self, prepared: PreparedCall) -> Risk:
        """The highest of the risks of a call: each path counts, as spelled and where it leads."""
        # TODO: Refuse to guess at the command and at the paths; then look everything up.
        raise NotImplementedError("your turn")


def risk_of(table: Sequence[Row], effect: Effect, path: str | None, command: str | None) -> Risk:
    """The highest risk of the rows that fit; `UNKNOWN` if none does."""
    # TODO: Collect the risks of all the rows that fit, not only of the first one.
    raise NotImplementedError("your turn")


def fits(row: Row, effect: Effect, path: str | None, command: str | None) -> bool:
    """Whether a row is about such a call. What it names must be there, and must match."""
    # TODO: Compare the effect, then path and command, each only if the row names it.
    raise NotImplementedError("your turn")


def highest(risks: Sequence[Risk]) -> Risk:
    """The highest one, the first of several; `UNKNOWN` if there is none."""
    return max(risks, key=lambda risk: risk.tier, default=UNKNOWN)
