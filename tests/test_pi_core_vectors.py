"""Every row about another agent library holds, and the program that runs them can say no."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chapters.ch04.names_and_ids import CallIds
from chapters.ch04.provider import Target
from chapters.ch04.repair import Group, Repair
from chapters.ch04.strict_schema import NotStrict
from labs.desk.book import Book, DeskError
from labs.desk.decision_table import decision_table
from labs.desk.docs import generate
from shared.errors import ProviderError
from shared.messages import AssistantMessage, StopReason, ToolResult
from tests.vectors.peer_decisions import OURS, TEXTS, decide
from tests.vectors.peer_row import LATER
from tests.vectors.pi_core import Row, UnusableFile, UnusableRow, Verdict, judge, load, main

VECTORS = Path(__file__).with_name("vectors")
COPIED = load(VECTORS / "pi-core.jsonl")
# Written by hand, from what is known of the library: kinds of rows that the copied ones lack.
OWN = load(VECTORS / "decisions.jsonl")
ROWS = [*COPIED, *OWN]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row(row: Row) -> None:
    verdict = judge(row)
    assert (verdict.complaint, verdict.absent) == ("", "")


# -- the decisions


def under(name: str) -> list[Row]:
    return [row for row in ROWS if name in decide(row)[1]]


def test_each_decision_is_told_in_words() -> None:
    for texts, ours in TEXTS.items():
        assert set(tomllib.loads(texts.read_text(encoding="utf-8"))) == set(ours)


def test_most_rows_are_under_no_decision() -> None:
    decided = [row for row in COPIED if decide(row)[1]]
    assert len(decided) < len(COPIED) / 2


@pytest.mark.parametrize("name", OURS)
def test_a_decision_applies_and_the_value_of_the_other_library_would_fail(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = under(name)
    assert rows
    monkeypatch.setattr("tests.vectors.pi_core.outcome", lambda row, expect: row.expect)
    assert [row.id for row in rows if not judge(row).complaint] == []


def _nothing(*_: Any) -> Any:
    raise NotStrict("never")


def _as_it_is(self: object, value: Any) -> Any:
    return value


def _pass_through(self: Repair, result: ToolResult) -> list[Group]:
    return [Group((result,))]


def _silent(make: Callable[..., Any], *arguments: Any) -> Any:
    return {**make(*arguments), "tools": []}


def _keeps_blanks(self: Repair, reply: AssistantMessage) -> AssistantMessage:
    return reply


def _hashed(self: CallIds, call_id: str) -> str:
    return call_id[:8] + "_1qbwa93h"


def _without_extras(specs: Any, strict: Any) -> Any:
    for spec in specs:
        yield {"properties": spec.parameters.get("properties", {})}, False


def _last_ones(given: Any) -> Any:
    from tests.vectors.peer_messages import specs_of

    return tuple({spec.name: spec for spec in specs_of(given)}.values())


FAULTS: dict[str, tuple[str, Any]] = {
    "whole-schema": ("chapters.ch04.anthropic_messages.schemas", _without_extras),
    "names-stay": ("chapters.ch04.anthropic_messages.wire_name", lambda name, limit: name.title()),
    "strict-is-a-wish": ("chapters.ch04.strict_schema.strict_schema", _nothing),
    "refused-by-the-registry": ("tests.vectors.peer_outcome.specs_of", _last_ones),
    "system-apart": ("chapters.ch04.responses.clean", lambda text: ""),
    "thinking-whole-or-not": ("chapters.ch04.repair.Repair._repaired", _keeps_blanks),
    "nothing-blank": ("chapters.ch04.repair.Repair._repaired", _keeps_blanks),
    "a-person-begins": ("chapters.ch04.repair.BEGINNING_IS_MISSING", "?"),
    "half-characters": ("chapters.ch04.repair.clean", lambda text: text.replace("\ud83d", "")),
    "interrupted": ("chapters.ch04.repair.INTERRUPTED", ("unknown", "?")),
    "one-result-each": ("chapters.ch04.repair.Repair._settle", _pass_through),
    "text-then-pictures": ("chapters.ch04.repair.NO_RESULT_IMAGE", "?"),
    "legal-ids": ("chapters.ch04.names_and_ids.CallIds.assign", _as_it_is),
    "unique-ids": ("chapters.ch04.names_and_ids.CallIds.assign", _as_it_is),
    "ids-are-cut": ("chapters.ch04.names_and_ids.CallIds._cleaned", _hashed),
    "no-invented-ids": ("chapters.ch04.responses.words", lambda said, name: "msg_1"),
    "errors-have-kinds": (
        "chapters.ch05.streaming.incomplete",
        lambda endpoint, begun: ProviderError("?", kind="connection"),
    ),
    "the-reason-is-the-end": (
        "chapters.ch05.anthropic_stream.AnthropicAccumulator.finished",
        property(lambda self: False),
    ),
    "refused-is-a-reply": (
        "chapters.ch04.anthropic_reply.STOP_REASONS",
        {"refusal": StopReason.END_TURN},
    ),
    "no-reason-no-reply": (
        "chapters.ch05.gemini_stream.GeminiAccumulator.finished",
        property(lambda self: True),
    ),
    "calls-decide": (
        "chapters.ch04.gemini_reply.finished",
        lambda reply, target: replace(reply, stop=StopReason.TOOL_USE),
    ),
    "raw-arguments": ("chapters.ch04.anthropic_reply.arguments_of", lambda value: "{}"),
    "ids-at-the-end": ("chapters.ch05.streaming.finish", lambda reply, *rest: reply),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_row_under_a_decision_fails_if_our_code_breaks(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*FAULTS[name])
    assert any(judge(row).complaint for row in under(name))


def test_a_list_of_no_tools_that_is_sent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from chapters.ch04 import wire

    monkeypatch.setattr(wire, "fields_of", partial(_silent, wire.fields_of))
    assert all(judge(row).complaint for row in under("no-empty-list"))


# -- the runner


ANY_VALUE = [("ids-are-cut",), ("legal-ids",), ("strict-is-a-wish",)]
"""Decisions that say what a whole expectation is, such as a hash that is not the library's."""

WRONG: dict[str, dict[str, Any]] = {
    "convertTools": {"tools": None},
    "convertMessages": {"messages": []},
    "id-normalisation": {"callId": "?", "resultId": "?"},
    "transform": {"messages": [], "inputMutated": False},
    "stream": {"events": ["?"], "content": [], "stopReason": "?"},
    "json-parse": {"value": "?"},
    "validation": {"error": "?"},
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_wrong_expectation_is_noticed(row: Row) -> None:
    """Also under a decision: none of them takes whatever a row expects for its own."""
    expect, names = decide(row)
    if names not in ANY_VALUE and expect != WRONG[row.area]:
        assert judge(replace(row, expect=WRONG[row.area])).complaint


def test_what_was_said_is_not_changed_and_repair_is_done_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = next(row for row in COPIED if row.id == "tf-001")

    def restless(history: list[Any], target: Target) -> list[Any]:
        return [*history, history[0]]

    monkeypatch.setattr("tests.vectors.peer_outcome.repair", restless)
    assert "again" in judge(row).complaint


@pytest.mark.parametrize("area", LATER)
def test_a_row_of_a_later_chapter_is_no_failure(area: str) -> None:
    verdict = judge(Row("x", area, {}, {}))
    assert verdict == Verdict(absent=f"until chapter {LATER[area]}: {area}")


def test_a_feature_that_is_not_here_is_no_failure() -> None:
    row = next(row for row in COPIED if row.area == "convertTools")
    chosen = replace(row, given={**row.given, "toolChoice": "any"})
    assert judge(chosen).absent == "here: a choice of tools: the model always chooses"
    elsewhere = replace(row, given={**row.given, "api": "bedrock-converse-stream"})
    assert judge(elsewhere).absent == "here: the API bedrock-converse-stream"


def test_an_expectation_without_a_known_form_is_not_usable() -> None:
    row = next(row for row in COPIED if row.area == "convertMessages")
    with pytest.raises(UnusableRow, match="no known form"):
        judge(replace(row, expect={"messages": [1]}))


GOOD = next(
    row
    for line in (VECTORS / "pi-core.jsonl").read_text(encoding="utf-8").splitlines()
    if (row := json.loads(line))["id"] == "id-001"
)
TRANSFORM = {
    "model": {"id": "m", "provider": "p", "api": "anthropic-messages"},
    "messages": [],
}


def transform(*messages: Any, **changes: Any) -> str:
    given = {**TRANSFORM, "messages": list(messages), **changes}
    return json.dumps(GOOD | {"area": "transform", "given": given})


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no row"),
        ("{", "line 1"),
        ("[]", "not a JSON object"),
        ('{"id": "x"}', "the row has no area"),
        (json.dumps(GOOD | {"id": "a\n"}), "cannot be printed"),
        (json.dumps(GOOD | {"area": "moon"}), "unknown area 'moon'"),
        (json.dumps(GOOD | {"given": []}), "given is no JSON object"),
        (json.dumps(GOOD | {"expect": None}), "expect is no JSON object"),
        (json.dumps(GOOD | {"given": {"id": 1}}), "id is no text"),
        (json.dumps(GOOD | {"given": {"id": "x", "target": 1}}), "target is no JSON object"),
        (json.dumps(GOOD | {"given": {"function": "shortHash"}}), "text is no text"),
        (json.dumps(GOOD | {"area": "convertTools", "given": {}}), "api is no text"),
        (json.dumps(GOOD | {"area": "stream", "given": {"api": 1}}), "api is no text"),
        (
            json.dumps(
                GOOD | {"area": "stream", "given": {"api": "a", "model": "m", "chunks": [1]}}
            ),
            "a chunk is no JSON object",
        ),
        (transform(model="m"), "model is no JSON object"),
        (transform(messages={}), "messages is no list"),
        (transform("hello"), "a message is no JSON object"),
        (transform({"role": "system"}), "unknown role 'system'"),
        (transform({"role": "user", "content": 1}), "content of a message is 1"),
        (transform({"role": "user", "content": [{"type": "audio"}]}), "unknown block 'audio'"),
        (transform({"role": "user", "content": [{"type": "text"}]}), "text is no text"),
        (transform({"role": "assistant", "content": []}), "api is no text"),
        (transform({"role": "toolResult", "content": []}), "toolCallId is no text"),
        ('{"id": ' + "[" * 100_000 + "]" * 100_000 + "}", "line 1: nested too deeply"),
    ],
)
def test_a_file_that_is_not_understood_is_refused(
    tmp_path: Path, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    with pytest.raises(UnusableFile, match=problem):
        load(path)
    assert main([str(path)]) == 2
    assert problem in capsys.readouterr().err


def test_the_exit_status_tells_what_came_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.jsonl"
    wrong = GOOD | {"id": "wrong", "expect": {"callId": "?", "resultId": "?"}}
    later = {"id": "later", "area": "agent-loop", "given": {}, "expect": {}}
    path.write_text("\n".join(json.dumps(row) for row in (GOOD, wrong, later)))
    assert main([str(path)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "wrong (id-normalisation):"
    assert printed[1] == '  expected {"callId": "?", "resultId": "?"}'
    assert printed[2].startswith('  given    {"callId": "call_abc123')
    assert printed[3] == "3 rows: 1 held, 0 held by decision, 1 not applicable, 1 failed"
    assert printed[4] == "  not applicable until chapter 6: agent-loop: 1"
    assert main([str(path), "--area", "agent-loop"]) == 0
    path.write_text(json.dumps(GOOD | {"expect": {"messages": [1]}}))
    assert main([str(path)]) == 2
    assert "row id-001 (id-normalisation) cannot be used" in capsys.readouterr().err
    assert main([str(tmp_path / "nope.jsonl")]) == 2


def test_the_decisions_are_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--decisions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = [line for line in lines if line]
    assert len(rows) == 2 * len(TEXTS) + len(OURS)
    assert all(line.count(" | ") == 3 for line in rows)


@pytest.mark.parametrize(
    ("shown", "texts"),
    [*zip(["wire_decisions()", "stream_decisions()", "argument_decisions()"], TEXTS, strict=True)],
)
def test_the_text_of_a_chapter_can_show_the_same_table(
    tmp_path: Path, shown: str, texts: Path
) -> None:
    pytest.importorskip("cogapp")
    book = Book.at(tmp_path, {})
    page = tmp_path / "chapters" / "ch04" / "README.md"
    page.parent.mkdir(parents=True)
    page.write_text(f"<!-- [[[cog {shown} ]]] -->\n<!-- [[[end]]] -->\n")
    with pytest.raises(DeskError, match="cannot be read"):
        generate(book, page)
    (tmp_path / "tests" / "vectors").mkdir(parents=True)
    (tmp_path / "tests" / "vectors" / texts.name).write_bytes(texts.read_bytes())
    assert decision_table(texts) in generate(book, page).new


def test_it_runs_as_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.vectors.pi_core", VECTORS / "pi-core.jsonl"],
        cwd=VECTORS.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{len(COPIED)} rows: ")
