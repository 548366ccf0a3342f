"""Plays the rows of a set side by side."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from chapters.ch04.conformance import requests, schemas
from chapters.ch04.conformance.adapters import api_of, how_to_install, missing_package, record_of
from chapters.ch04.conformance.answers import play as play_answer
from chapters.ch04.conformance.answers import script_of
from chapters.ch04.conformance.rows import Row
from chapters.ch04.conformance.verdicts import Difference, Outcome, Verdict
from chapters.ch04.provider import Api, Provider
from shared.errors import ConfigError

AT_ONCE = 16
LATER = {"stream": "streaming comes with chapter 5"}

Player = Callable[[Row, Provider], Awaitable[list[Difference]]]
"""Plays a row to a record, and tells what is not as the row has it."""


async def judge_schema(row: Row, record: Provider) -> list[Difference]:
    """What is wrong with a schema made strict. Nothing is sent for that."""
    return schemas.judge(row, record)


PLAYERS: Mapping[str, Player] = {
    "nonstream": play_answer,
    "request": requests.play,
    "schema": judge_schema,
}


# region: run
async def run(
    rows: Sequence[Row],
    choice: Api | Provider | None = None,
    players: Mapping[str, Player] | None = None,
) -> list[Verdict]:
    """What came of each row; only those of `choice`, if there is one.

    `players` are those of more modes: what a later chapter plays, it brings along.
    """
    places = asyncio.Semaphore(AT_ONCE)
    known = {**PLAYERS, **(players or {})}

    async def one(row: Row) -> Verdict:
        async with places:
            return await verdict_on(row, choice, known)

    wanted = choice.api if isinstance(choice, Provider) else choice
    kept = [row for row in rows if wanted is None or api_of(row) is wanted]
    for row in kept:
        check(row)
    # The first row of each API is played alone: loading its client holds up everything else.
    first = {api_of(row): row for row in reversed(kept) if row.mode != "schema"}
    alone = {id(row): await one(row) for row in first.values()}
    others = [row for row in kept if id(row) not in alone]
    rest = dict(zip(map(id, others), await asyncio.gather(*map(one, others)), strict=True))
    return [(alone | rest)[id(row)] for row in kept]


async def verdict_on(
    row: Row, choice: Api | Provider | None, players: Mapping[str, Player]
) -> Verdict:
    """Play one row. Whatever an adapter does is a verdict on it."""
    api = api_of(row)
    if api is None:
        return not_applicable(row, row.api, f"no adapter speaks {row.api}")
    record = record_of(row, api, choice)
    play = players.get(row.mode)
    if play is None:
        reason = LATER.get(row.mode, f"the mode {row.mode} is not known")
        return not_applicable(row, record.name, reason)
    if row.mode == "schema" and api not in schemas.SCHEMA:
        return not_applicable(row, record.name, "no strict schemas in this API")
    if row.mode != "schema" and (package := missing_package(api)):
        reason = f"the package {package} is not installed; in the workbook's folder: "
        return not_applicable(row, record.name, reason + how_to_install(api))
    try:
        found = await play(row, record)
    except Exception as error:
        found = [Difference("crash", "none", f"{type(error).__name__}: {error}")]
    outcome = Outcome.FAILS if found else Outcome.HOLDS
    return Verdict(row, record.name, outcome, tuple(found))


# endregion: run


def check(row: Row) -> None:
    """Raise ConfigError for a row that cannot be played, whatever the adapter does."""
    if row.mode == "request":
        document = row.document()
        for name in ("bad", "good"):
            need(row, f"`{name}`", document.get(name), list, dict)
    if row.mode == "schema":
        need(row, "`in`", row.document().get("in"), dict)
    message = row.expect.get("message") or {}
    need(row, "`expect.message`", message, dict)
    calls = message.get("tool_calls") or []
    need(row, "`expect.message.tool_calls`", calls, list)
    for call in calls:
        need(row, "each of `expect.message.tool_calls`", call, dict)
    for name in ("echo", "events", "custom_calls"):
        need(row, f"`expect.{name}`", row.expect.get(name) or [], list)
    for call in row.expect.get("custom_calls") or []:
        need(row, "each of `expect.custom_calls`", call, dict)
    for name in ("error", "alt_error"):
        need(row, f"`expect.{name}`", row.expect.get(name) or {}, dict)
    try:
        script_of(row)
        float(row.http.get("client_timeout_s", 0)), int(row.http.get("client_retries", 0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"{row.file}: `http` is malformed ({error!r}).") from None


def need(row: Row, what: str, value: object, *kinds: type) -> None:
    """Raise ConfigError unless the value is of one of these kinds."""
    if not isinstance(value, kinds):
        names: dict[type, str] = {list: "a list", dict: "an object"}
        wanted = " or ".join(names[kind] for kind in kinds)
        raise ConfigError(f"{row.file}: {what} has to be {wanted}.")


def not_applicable(row: Row, adapter: str, reason: str) -> Verdict:
    """A row that was not played, and why."""
    return Verdict(row, adapter, Outcome.NOT_APPLICABLE, reason=reason)
