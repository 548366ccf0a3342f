"""What `TypingSpeed` promises: what was written in how much time, each reply once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import choice, randint
from secrets import token_hex
from types import ModuleType
from typing import Any

import pytest

from chapters import ch05
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch05.exercises.trial import StreamedModel
from shared.errors import ProviderError
from shared.events import (
    Event,
    MessageAdded,
    ReplyEnded,
    ReplyStarted,
    RetryScheduled,
    RunEnded,
    RunStarted,
    TextDelta,
    TextEnded,
    TextStarted,
    ThinkingDelta,
    ThinkingEnded,
    ThinkingStarted,
    ToolCallDelta,
    ToolCallStarted,
    TurnEnded,
)
from shared.messages import AssistantMessage, StopReason, Text, Thinking
from shared.scripted import call, says
from shared.testing import FakeClock, fake_kit

pytestmark = pytest.mark.anyio

PIECES = "chapters/ch05/README.md#one-reply-piece-by-piece"
AGAIN = "chapters/ch05/README.md#sending-it-again"
PLACES = "chapters/ch01/README.md#five-places-to-plug-in"

START, WHOLE, BROKEN = ReplyStarted(), says("whole"), ReplyEnded(None, ValueError("it broke off"))
END = ReplyEnded(WHOLE, None)
Step = Event | float


def heard(target: ModuleType, *steps: Step, start: float | None = None) -> Any:
    """A meter that has heard these events; a number is so many seconds that pass."""
    clock = FakeClock(time=randint(1, 10_000) if start is None else start)
    meter = target.TypingSpeed(clock)
    meter.listen(RunStarted(20))
    for step in steps:
        if isinstance(step, int | float):
            clock.time += step
        else:
            meter.listen(step)
    return meter


def typed(*pieces: str, gap: float, part: int = 0, thought: bool = False) -> list[Step]:
    """A part that is written piece by piece."""
    started, delta, ended = (
        (ThinkingStarted, ThinkingDelta, ThinkingEnded)
        if thought
        else (TextStarted, TextDelta, TextEnded)
    )
    steps: list[Step] = [started(part)]
    for number, piece in enumerate(pieces):
        steps += [gap, delta(part, piece)] if number else [delta(part, piece)]
    return [*steps, ended(part, "".join(pieces))]


def some_words(count: int) -> list[str]:
    """So many words, each with a space behind it."""
    return [token_hex(randint(1, 5)) + choice([" ", "\n", "  "]) for _ in range(count)]


def numbers(speed: Any) -> Any:
    return speed.characters, speed.words, pytest.approx(speed.seconds)


@pytest.mark.contract("The time is from the first piece of a part to its last one.", read=PIECES)
async def test_the_time(target: ModuleType) -> None:
    words, wait = some_words(9), randint(3, 50)
    steps = [wait, START, wait, *typed(*words, gap=0.25), wait, END, wait]
    for start in (0.0, 1_000.0):
        meter = heard(target, *steps, start=start)
        assert (len("".join(words)), 9, 2.0) == numbers(meter.text), (
            "waiting for the first word and for the end is not writing"
        )
    assert numbers(meter.thinking) == (0, 0, 0.0)


@pytest.mark.contract("A word that comes in several pieces is one word.", read=PIECES)
@pytest.mark.parametrize("step", [1, 2, 3, 7])
async def test_words_in_pieces(target: ModuleType, step: int) -> None:
    text = "".join(some_words(20)).strip()
    pieces = [text[start : start + step] for start in range(0, len(text), step)]
    meter = heard(target, START, *typed(*pieces, gap=1), END)
    assert (meter.text.characters, meter.text.words) == (len(text), 20)


@pytest.mark.contract("Two parts are two texts: their words do not grow together.", read=PIECES)
async def test_words_of_two_parts(target: ModuleType) -> None:
    first, second = typed("o", "ne", gap=1, part=0), typed("t", "wo", gap=2, part=1)
    meter = heard(target, START, *first, 5, *second, END)
    assert numbers(meter.text) == (6, 2, 3.0), "two words; and between the parts nothing was said"


@pytest.mark.contract("What is written beside a text takes none of its time.", read=PIECES)
async def test_other_parts_between(target: ModuleType) -> None:
    calls: Sequence[Step] = [ToolCallStarted(1, "call_1", "f"), 30, ToolCallDelta(1, '{"a b": 1}')]
    meter = heard(
        target, START, *typed("a ", "b", gap=1), *calls, 30, *typed("c ", "d", gap=1, part=2), END
    )
    assert numbers(meter.text) == (6, 4, 2.0), "a call was written for 30 seconds, and no text"


@pytest.mark.contract("Thinking is measured apart from text.", read=PIECES)
async def test_thinking(target: ModuleType) -> None:
    thought, said = some_words(5), some_words(3)
    meter = heard(
        target,
        START,
        *typed(*thought, gap=2, part=0, thought=True),
        *typed(*said, gap=1, part=1),
        END,
    )
    assert (len("".join(thought)), 5, 8.0) == numbers(meter.thinking)
    assert (len("".join(said)), 3, 2.0) == numbers(meter.text)


@pytest.mark.contract("What comes all at once has no speed, and spoils none.", read=PIECES)
async def test_all_at_once(target: ModuleType) -> None:
    at_once = heard(target, START, TextStarted(0), TextDelta(0, "all of it"), 3, END)
    assert numbers(at_once.text) == (0, 0, 0.0)
    assert str(at_once.text) == "-"
    both = heard(target, START, *typed("at ", "once", gap=0), *typed("a ", "b", gap=1, part=1), END)
    assert numbers(both.text) == (3, 2, 1.0)
    assert "-" in heard(target).summary()


@pytest.mark.contract("A reply that broke off does not count.", read=AGAIN)
async def test_broken_off(target: ModuleType) -> None:
    meter = heard(target, START, *typed("a ", "b", gap=1), BROKEN)
    assert numbers(meter.text) == (0, 0, 0.0)
    assert meter.replies == 0


@pytest.mark.contract("A reply that was asked for again counts once.", read=AGAIN)
async def test_retried(target: ModuleType) -> None:
    again = RetryScheduled(2, 0.5, ValueError("it broke off"))
    half, whole = [*typed("a ", "b ", gap=9)[:-1]], typed("a ", "b ", "c", gap=1)
    meter = heard(target, START, *half, BROKEN, again, 7, START, *whole, END)
    assert numbers(meter.text) == (5, 3, 2.0)
    assert meter.replies == 1


@pytest.mark.contract("A reply that was cut off or refused was written all the same.", read=AGAIN)
async def test_ended_badly(target: ModuleType) -> None:
    for stop in (StopReason.MAX_TOKENS, StopReason.REFUSAL):
        end = ReplyEnded(says("a b", stop=stop), None)
        meter = heard(target, START, *typed("a ", "b", gap=1), end)
        assert numbers(meter.text) == (3, 2, 1.0)


@pytest.mark.contract("The replies of a run add up, and nothing counts twice.", read=PLACES)
async def test_a_run(target: ModuleType) -> None:
    gaps = [randint(1, 9) for _ in range(4)]
    steps: list[Step] = []
    for gap in gaps:
        added = MessageAdded(WHOLE)
        steps += [START, *typed("a ", "b", gap=gap), END, 5, added, TurnEnded(1, WHOLE)]
    meter = heard(target, *steps, RunEnded(WHOLE, None))
    assert (12, 8, float(sum(gaps))) == numbers(meter.text)
    assert meter.replies == 4, "what a run has come to can be read when it is over"


@pytest.mark.contract("Each run begins at nothing, after a run that was stopped too.", read=PLACES)
async def test_runs(target: ModuleType) -> None:
    one = typed("a ", "b", gap=1)
    stopped = [START, *one, RunEnded(None, KeyboardInterrupt())]
    for before in ([START, *one, END, RunEnded(WHOLE, None)], stopped):
        meter = heard(target, *before, RunStarted(20))
        assert (meter.replies, meter.text.characters) == (0, 0)
        meter.listen(END)
        assert meter.text.characters == 0, "pieces of the last run were counted in this one"


@pytest.mark.contract("For a person there is one line, as the statement shows it.")
async def test_for_a_person(target: ModuleType) -> None:
    characters, words = randint(500, 900), randint(50, 99)
    assert str(target.Speed(characters * 4, words * 4, 4.0)) == (
        f"{characters} characters and {words}.0 words a second"
    )
    page = (Path(__file__).parent / "README.md").read_text(encoding="utf-8")
    _, shown, _ = page.split("```\n")
    meter = heard(
        target,
        START,
        *typed("It", " is all", " in a.txt, and it", " has 12 lines", gap=0.25),
        END,
    )
    assert meter.summary().splitlines() == shown.splitlines()


@pytest.mark.contract("In the agent: each reply that came, and none that did not.", read=AGAIN)
async def test_in_the_agent(target: ModuleType) -> None:
    class Ticking(FakeClock):
        def now(self) -> float:
            self.time += 1
            return self.time

    text, thought = "".join(some_words(12)), "".join(some_words(6))
    said = AssistantMessage(
        (Thinking(thought), Text(text), call("read_file", id="call_1", path="a.txt")),
        StopReason.TOOL_USE,
    )
    broken = ProviderError("it broke off", kind="incomplete_stream", retryable=True)
    model, clock = StreamedModel((said, broken), said, says(text)), Ticking()
    kit = fake_kit(model, files=MemoryFiles({"a.txt": "1"}), clock=clock)
    meter = target.TypingSpeed(clock)
    await target.plan(kit, meter).build(kit).ask("go")
    assert meter.replies == 2
    assert (meter.text.characters, meter.text.words) == (2 * len(text), 24)
    assert (meter.thinking.characters, meter.thinking.words) == (len(thought), 6)
    assert meter.text.seconds > 0
    before, after = ch05.plan(kit), target.plan(kit, meter)
    assert after.listeners == (*before.listeners, meter.listen)
