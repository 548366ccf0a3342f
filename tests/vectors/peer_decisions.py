"""Where we decide differently from another agent library, each as a function on what a row expects.

A function gets what a row gives and what it expects, and returns what we expect instead: the same,
if the decision has nothing to say about the row. So a row under a decision is checked like any
other one. What the decisions are and why is in the files of TEXTS, from which the chapters' texts
show them as well.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path

from tests.vectors import (
    peer_ids,
    peer_json,
    peer_pairing,
    peer_stream_decisions,
    peer_thinking,
    peer_tools,
    peer_validation,
    peer_words,
)
from tests.vectors.peer_row import Json, Row

Ours = dict[str, Callable[[Json, Json], Json]]


CONVERTERS: Ours = {
    "whole-schema": peer_tools.whole_schema,
    "names-stay": peer_tools.names_stay,
    "refused-by-the-registry": peer_tools.repeated_tools_stay,
    "no-empty-list": peer_tools.no_empty_list,
    "one-schema-field": peer_tools.one_schema_field,
    "system-apart": peer_words.system_apart,
    "thinking-whole-or-not": peer_thinking.thinking_whole_or_not,
    "nothing-blank": peer_words.nothing_blank,
    "text-then-pictures": peer_words.text_then_pictures,
    "half-characters": peer_words.half_characters,
    "one-result-each": peer_pairing.one_result_each,
    "interrupted": peer_pairing.interrupted,
    "a-person-begins": peer_words.a_person_begins,
    "cache-marks": peer_words.cache_marks,
    "no-invented-ids": peer_ids.no_invented_ids,
    "a-word-for-a-signature": peer_words.a_word_for_a_signature,
    "legal-ids": peer_ids.legal_ids,
    "ids-are-cut": peer_ids.ids_are_cut,
    "unique-ids": peer_ids.unique_ids,
    "strict-is-a-wish": peer_tools.strict_is_a_wish,
}
"""In the order in which they are applied; the last one expects what no copy of it would equal."""


BY_AREA: dict[str, Ours] = {
    "stream": peer_stream_decisions.OURS,
    "json-parse": peer_json.OURS,
    "validation": peer_validation.OURS,
}
"""Areas with decisions of their own; the others have those of the converters."""

ARGUMENTS: Ours = {**peer_json.OURS, **peer_validation.OURS}
OURS: Ours = {**CONVERTERS, **peer_stream_decisions.OURS, **ARGUMENTS}

FOLDER = Path(__file__).parent
TEXTS: dict[Path, Ours] = {
    FOLDER / "decisions.toml": CONVERTERS,
    FOLDER / "decisions_streams.toml": peer_stream_decisions.OURS,
    FOLDER / "decisions_arguments.toml": ARGUMENTS,
}
"""Which decisions each file tells in words."""


def decide(row: Row) -> tuple[Json, tuple[str, ...]]:
    """What we expect of a row, and which decisions made that differ from what it says."""
    expect, names = copy.deepcopy(row.expect), []
    for name, ours in BY_AREA.get(row.area, CONVERTERS).items():
        before = copy.deepcopy(expect)
        expect = ours(row.given, expect)
        if expect != before:
            names.append(name)
    return expect, tuple(names)
