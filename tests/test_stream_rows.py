"""Streamed answers: each is understood however its bytes arrive, and the suite is not blind."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from chapters.ch01.chat_wire import clean
from chapters.ch04.conformance.adapters import api_of, missing_package, record_of
from chapters.ch04.conformance.answers import MODEL, TOOLS
from chapters.ch04.conformance.rows import Row, load
from chapters.ch04.conformance.suite import run
from chapters.ch04.conformance.verdicts import Outcome, Verdict
from chapters.ch04.provider import Api, Target
from chapters.ch05 import adapters
from chapters.ch05.accumulator import Accumulator, ReportedError, StreamWire
from chapters.ch05.stream_conformance import PLAYERS
from chapters.ch05.stream_errors import unreadable_event
from chapters.ch05.stream_order import told_of
from chapters.ch05.streaming import StreamingModel
from shared.errors import ProviderError
from shared.events import (
    Event,
    ReplyEnded,
    ReplyStarted,
    StreamEvent,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallEnded,
    ToolCallStarted,
)
from shared.messages import FINISHED, AssistantMessage, Request, Text, ToolCall, UserMessage
from tests.vectors.peer_stream import Chunks
from tests.vectors.stream_rows import BROKEN_OFF, NO_STREAM, STREAMS

KNOWN = [row for row in load(Path(__file__).parent / "vectors" / "wire") if row.mode == "stream"]
OWN = [*STREAMS, *BROKEN_OFF, *NO_STREAM]
ROWS = {**{row.file: row for row in KNOWN}, **dict(OWN)}
LARGE = 50_000  # bytes; what is larger arrives in larger pieces


@pytest.fixture(autouse=True)
def _no_proxy_and_no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    without_settings(monkeypatch)


def without_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests talk to 127.0.0.1, whatever the machine they run on is set up for."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("OPENAI_", "ANTHROPIC_", "GOOGLE_")):
            monkeypatch.delenv(name)


def played(rows: Iterable[Row]) -> list[Verdict]:
    return asyncio.run(run(list(rows), None, PLAYERS))


@pytest.fixture(scope="module")
def byte_by_byte() -> Iterator[dict[str, Verdict]]:
    """What comes of each row if it arrives in single bytes. All are played side by side."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        without_settings(monkeypatch)
        verdicts = played(
            replace(row, http={**row.http, "split_every": 1 if len(row.content) < LARGE else 61})
            for row in ROWS.values()
        )
        yield dict(zip(ROWS, verdicts, strict=True))


@pytest.mark.parametrize("name", ROWS)
def test_a_row_holds_if_it_arrives_in_single_bytes(
    name: str, byte_by_byte: dict[str, Verdict]
) -> None:
    verdict = byte_by_byte[name]
    assert verdict.differences == ()
    if verdict.outcome is Outcome.NOT_APPLICABLE:
        assert verdict.reason == "the package google.genai is not installed"


# -- cut off after any event


def events_of(row: Row) -> list[dict[str, Any]]:
    """The events of a body, up to the first that is none. Written without the clients' readers."""
    events = []
    for said in row.content.decode().replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].strip() for line in said.split("\n") if line.startswith("data:")]
        if not lines or lines == ["[DONE]"]:
            continue
        try:
            event = json.loads("\n".join(lines))
        except ValueError:
            break
        if not isinstance(event, dict):
            break
        events.append(event)
    return events


async def heard(row: Row, events: list[Any]) -> tuple[AssistantMessage | None, list[Event]]:
    """The reply that these events make, if any, and what was told."""
    api = api_of(row)
    assert api is not None
    target = Target(record_of(row, api, None), MODEL)
    model = StreamingModel(target, adapters.stream_wire_of(api), Chunks(events))
    told: list[Event] = []
    try:
        reply = await model.reply(Request((UserMessage("Go on."),), TOOLS), told.append)
    except ProviderError:
        return None, told
    return reply, told


def runs(reply: AssistantMessage | None) -> list[tuple[str, str]]:
    """The calls that an agent would look at."""
    if reply is None or reply.stop not in FINISHED:
        return []
    return [(call.name, call.arguments) for call in reply.calls]


@pytest.mark.parametrize("name", ROWS)
def test_what_is_cut_off_after_any_event_runs_nothing_or_all(name: str) -> None:
    """All, if only what comes after the reason was cut off: the tokens, a mark."""
    row = ROWS[name]
    events = events_of(row)

    async def cut() -> None:
        whole, _ = await heard(row, events)
        step = max(1, len(events) // 8) if len(events) > 100 else 1
        for end in {*range(0, len(events), step), len(events) - 1}:
            reply, told = await heard(row, events[:end])
            assert runs(reply) in ([], runs(whole))
            assert told_of(told).faults == ()
            assert isinstance(told[-1], ReplyEnded)
            if reply is None:
                assert told[-1].reply is None

    asyncio.run(cut())


def test_a_prefix_of_a_reply_without_its_reason_is_none() -> None:
    """The property above says little if every cut failed, or none did."""

    async def count() -> tuple[int, int]:
        replies = cuts = 0
        for row in KNOWN:
            events = events_of(row)
            if not row.expect.get("error") and len(events) < 100:
                for end in range(len(events)):
                    reply, _ = await heard(row, events[:end])
                    cuts, replies = cuts + 1, replies + (reply is not None)
        return replies, cuts

    replies, cuts = asyncio.run(count())
    assert 0 < replies < cuts / 5


# -- what goes wrong in an accumulator, and the rows that have to notice


@dataclass
class Mutant:
    """An accumulator with something wrong; by itself, nothing is."""

    real: Any

    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        return self.real.feed(event)  # type: ignore[no-any-return]

    def end(self) -> Iterable[StreamEvent]:
        return self.real.end()  # type: ignore[no-any-return]

    @property
    def finished(self) -> bool:
        return bool(self.real.finished)

    @property
    def rest(self) -> float | None:
        return self.real.rest  # type: ignore[no-any-return]

    def answer(self) -> Any:
        return self.real.answer()


class NeverInDoubt(Mutant):
    @property
    def finished(self) -> bool:
        return True


class Stutters(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        for told in self.real.feed(event):
            yield told
            if isinstance(told, TextDelta | ThinkingDelta | ToolCallDelta):
                yield told


class Mute(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        list(self.real.feed(event))
        return ()


class LeavesOpen(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        told = self.real.feed(event)
        return [each for each in told if not isinstance(each, TextEnded | ToolCallEnded)]

    def end(self) -> Iterable[StreamEvent]:
        list(self.real.end())
        return ()


class Renumbers(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        for told in self.real.feed(event):
            if isinstance(told, TextStarted | ToolCallStarted):
                told.part += 1
            yield told


class ForgetsTheIndex(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        event = {name: value for name, value in event.items() if "index" not in name}
        return super().feed(event)


class SwallowsErrors(Mutant):
    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        try:
            yield from self.real.feed(event)
        except ReportedError:
            return


class LosesEveryThird(Mutant):
    count = 0

    def feed(self, event: dict[str, Any]) -> Iterable[StreamEvent]:
        self.count += 1
        return () if self.count % 3 == 0 else super().feed(event)


class SaysItEndedWell(Mutant):
    def answer(self) -> Any:
        body = self.real.answer()
        for choice in body.get("choices", ()):
            choice["finish_reason"] = "stop"
        for candidate in body.get("candidates", ()):
            candidate["finishReason"] = "STOP"
        body |= {"stop_reason": "end_turn"} if "content" in body else {}
        return body | ({"status": "completed"} if "output" in body else {})


class LosesTheTokens(Mutant):
    def answer(self) -> Any:
        body = self.real.answer()
        return {name: value for name, value in body.items() if not name.startswith("usage")}


class LosesSignatures(Mutant):
    def answer(self) -> Any:
        body = json.loads(json.dumps(self.real.answer()))
        for part in body.get("content", ()):
            part.pop("signature", None)
        for candidate in body.get("candidates", ()):
            for part in candidate["content"]["parts"]:
                part.pop("thoughtSignature", None)
        for item in body.get("output", ()):
            item.pop("encrypted_content", None)
        return body


class CompletesArguments(Mutant):
    def answer(self) -> Any:
        """As a helper of a client does it: what is cut becomes an object."""
        body = self.real.answer()
        for part in body.get("content", ()):
            if part.get("type") == "tool_use":
                part["input"] = "{}"
        for choice in body.get("choices", ()):
            for call in choice["message"].get("tool_calls", ()):
                call["function"]["arguments"] = "{}"
        for item in body.get("output", ()):
            if item.get("type") == "function_call":
                item["arguments"] = "{}"
        return body


CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai-chat", "openai-responses", "anthropic", "gemini"
NOTICED: list[tuple[Callable[[Any], Mutant], list[str]]] = [
    (
        NeverInDoubt,
        [
            "chat_text_done_no_finish.sse",
            f"{RESPONSES}: a clean end after a whole call",
            f"{ANTHROPIC}: a clean end in an input",
            f"{GEMINI}: a clean end after a call",
        ],
    ),
    (Stutters, ["chat_tool_basic.sse", "resp_text.sse", "anth_text.sse", "gem_max_tokens.sse"]),
    (Mute, ["chat_tool_basic.sse", "resp_text.sse", "anth_text.sse", "gem_max_tokens.sse"]),
    (LeavesOpen, ["chat_tool_basic.sse", "resp_text.sse", "anth_text.sse"]),
    (Renumbers, ["chat_tool_basic.sse", "resp_text.sse", "anth_text.sse", "gem_inband_error.sse"]),
    (ForgetsTheIndex, ["anth_interleaved.sse"]),
    (SwallowsErrors, ["resp_error_event.sse", f"{CHAT}: an error as a chunk of its own kind"]),
    (LosesEveryThird, ["chat_tool_basic.sse", "resp_text.sse", "anth_text_tool.sse"]),
    (
        SaysItEndedWell,
        [
            "chat_length_text.sse",
            f"{RESPONSES}: cut by the limit in arguments",
            "anth_max_tokens_number.sse",
            "gem_max_tokens.sse",
        ],
    ),
    (
        LosesTheTokens,
        ["chat_usage_every_chunk.sse", "resp_text.sse", "anth_text.sse", "gem_prompt_blocked.sse"],
    ),
    (
        LosesSignatures,
        [
            f"{RESPONSES}: thinking before a call",
            f"{ANTHROPIC}: thinking with its signature",
            "gem_call_signature.sse",
        ],
    ),
    (
        CompletesArguments,
        ["chat_cut_but_finish_tool_calls.sse", "resp_no_deltas.sse", "anth_max_tokens_cut.sse"],
    ),
]


def mutated(
    monkeypatch: pytest.MonkeyPatch, mutant: Callable[[Any], Mutant], names: list[str]
) -> set[str]:
    """The names of the rows that do not hold if all accumulators are like this."""
    real = adapters.stream_wire_of

    def broken(api: Api) -> StreamWire:
        wire = real(api)
        started: Callable[[frozenset[str]], Accumulator] = wire.accumulator
        return replace(wire, accumulator=lambda offered: mutant(started(offered)))

    monkeypatch.setattr(adapters, "stream_wire_of", broken)
    verdicts = zip(names, played(ROWS[name] for name in names), strict=True)
    return {name for name, verdict in verdicts if verdict.outcome is Outcome.FAILS}


@pytest.mark.parametrize(("mutant", "names"), NOTICED, ids=[each[0].__name__ for each in NOTICED])
def test_an_accumulator_with_something_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, mutant: Callable[[Any], Mutant], names: list[str]
) -> None:
    if missing_package(Api.GEMINI):
        names = [name for name in names if not name.startswith("gem")]
    assert mutated(monkeypatch, mutant, names) == set(names)


def test_a_mutant_with_nothing_wrong_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert mutated(monkeypatch, Mutant, sorted({name for _, each in NOTICED for name in each})) == (
        set()
    )


def newest(calls: Any, fragment: Any) -> Any:
    return calls.all[-1] if calls.all else None


def as_it_comes(pieces: Any, piece: str) -> str:
    return str(pieces._keep(clean(piece)))


def unreadable(endpoint: Any, *_: Any) -> ProviderError:
    return unreadable_event(endpoint, "?")


FAULTS: list[tuple[str, str, Any, list[str]]] = [
    (
        "no call begins while one is open",
        "chapters.ch05.chat_calls.Calls._begins",
        lambda *_: False,
        [f"{CHAT}: index is always 0 and whole calls come"],
    ),
    (
        "a piece belongs to the last call",
        "chapters.ch05.chat_calls.Calls._find",
        newest,
        [f"{CHAT}: pieces of two calls alternate"],
    ),
    (
        "arguments that are repeated are joined",
        "chapters.ch05.chat_calls.is_object",
        lambda text: False,
        [f"{CHAT}: arguments are repeated from their beginning"],
    ),
    (
        "half a character is replaced at once",
        "chapters.ch05.accumulator.Pieces.add",
        as_it_comes,
        [f"{CHAT}: two halves of a character come in two chunks"],
    ),
    (
        "ids stay as they came",
        "chapters.ch05.streaming.finish",
        lambda reply, *_: reply,
        ["chat_id_missing.sse", "chat_id_duplicate.sse"],
    ),
    (
        "every failure is called alike",
        "chapters.ch05.event_connection.failure_of",
        unreadable,
        ["chat_cut_timeout.sse", "anth_abort.sse", "resp_cut_abort.sse"],
    ),
    (
        "nothing is incomplete",
        "chapters.ch05.streaming.incomplete",
        lambda endpoint, begun: ProviderError("?", kind="provider"),
        ["chat_text_done_no_finish.sse"],
    ),
]


@pytest.mark.parametrize(
    ("place", "fault", "names"), [each[1:] for each in FAULTS], ids=[each[0] for each in FAULTS]
)
def test_a_fault_is_noticed(
    monkeypatch: pytest.MonkeyPatch, place: str, fault: Any, names: list[str]
) -> None:
    monkeypatch.setattr(place, fault)
    verdicts = played(ROWS[name] for name in names)
    assert all(verdict.outcome is Outcome.FAILS for verdict in verdicts)


# -- every expectation can fail

SPOILED = [
    "anth_text_tool.sse",
    "anth_abort.sse",
    "gem_call_signature.sse",
    "resp_custom_tool_input.sse",
    "chat_reasoning_field.sse",
    f"{CHAT}: an error with a number as code",
    f"{ANTHROPIC}: an error after a whole call",
    f"{ANTHROPIC}: thinking with its signature",
]
SAYS_NOTHING = ("note", "status", "usage", "stop_reason")  # of a reply that is none


@pytest.mark.parametrize("name", SPOILED)
def test_every_expectation_can_fail(name: str) -> None:
    """Each leaf is spoiled in turn, and each time it is noticed."""
    row = ROWS[name]
    if row.api == GEMINI and missing_package(Api.GEMINI):
        pytest.skip("google-genai is not installed")
    spoiled = {
        path: replace(row, expect=expect)
        for path, expect in spoil(row.expect)
        if not (path[-1] == "note" or (row.expect["error"] and {*path} & {*SAYS_NOTHING}))
    }
    verdicts = zip(spoiled, played(spoiled.values()), strict=True)
    assert [path for path, verdict in verdicts if verdict.outcome is not Outcome.FAILS] == []


def spoil(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every leaf of an expectation made wrong, one at a time."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for name, inner in list(entries):
        here = (*path, name)
        if isinstance(inner, dict | list) and inner:
            changes = list(spoil(inner, here))
        elif inner is None and name == "error":
            changes = [(here, {"kind": "provider"})]
        elif isinstance(inner, list):
            changes = [(here, [{"id": "x", "name": "get_time"}])]
        else:
            changes = [(here, {"x": 1} if isinstance(inner, dict) else "wrong")]
        for there, changed in changes:
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[name] = changed
            yield there, copy


# -- what is told out of order

CALL = ToolCall("c", "n", "{}")
REPLY = AssistantMessage((Text("Hi"),))
HI: list[Event] = [
    ReplyStarted(),
    TextStarted(0),
    TextDelta(0, "Hi"),
    TextEnded(0, "Hi"),
    ReplyEnded(REPLY, None),
]
OUT_OF_ORDER: list[tuple[list[Event], str]] = [
    (HI[1:], "outside of a reply"),
    ([HI[0], *HI], "before the last one has ended"),
    ([*HI, TextDelta(0, "!")], "outside of a reply"),
    ([*HI[:3], TextStarted(0), *HI[3:]], "starts twice"),
    ([HI[0], TextStarted(1)], "out of turn"),
    ([HI[0], TextDelta(0, "Hi")], "has not begun"),
    ([*HI[:2], ThinkingDelta(0, "Hi")], "no thinking"),
    ([*HI[:4], TextDelta(0, "!"), HI[4]], "after its part has ended"),
    ([*HI[:3], TextEnded(0, "Ho"), HI[4]], "its pieces are 'Hi'"),
    ([HI[0], ToolCallStarted(0, "c", "n"), ToolCallDelta(0, "[]"), ToolCallEnded(0, CALL)], "'[]'"),
    ([*HI[:3], HI[4]], "has no end"),
    ([*HI[:4], ReplyEnded(REPLY, ValueError())], "no end"),
]


@pytest.mark.parametrize(("events", "fault"), OUT_OF_ORDER, ids=[each[1] for each in OUT_OF_ORDER])
def test_what_is_told_out_of_order_is_noticed(events: list[Event], fault: str) -> None:
    assert any(fault in found for found in told_of(events).faults)


def test_what_is_in_order_is_not_and_a_second_reply_is_a_new_one() -> None:
    told = told_of([*HI[:3], ReplyEnded(None, ValueError()), *HI])
    assert (told.faults, told.text, told.ends) == ((), "Hi", 2)
    assert told_of([*HI, ReplyEnded(None, ValueError())]).text == ""
