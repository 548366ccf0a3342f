"""The live console: what a person sees while a reply arrives, and that it leaves no trace."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import random
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager

import httpx2
import pytest

from chapters.ch04.adapters import Access
from chapters.ch04.known_servers import KNOWN
from chapters.ch05.adapters import open_streaming_model
from shared.console import Console
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
    ToolCallEnded,
    ToolCallStarted,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from shared.live_console import LiveConsole
from shared.live_text import LiveText
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from shared.screen import Screen, columns_of
from shared.status_line import StatusLine
from shared.testing import FakeClock
from tests.small_terminal import SmallTerminal

pytestmark = pytest.mark.anyio

XTERM = {"TERM": "xterm"}
KEY = "sk-test-0123456789abcdef"
A_FAULT = "error at the provider"
SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
TURN = TurnStarted(1, Request(()))
CALL = ToolCall("c1", "write_file", '{"path": "a.txt"}')
BROKEN = ProviderError("It ended.", kind="incomplete_stream", retryable=True)
LIMITED = ProviderError("Slow down.", kind="provider", status=429, retryable=True)


class HandClock:
    """A clock that moves when the test says so, and wakes whoever has slept long enough."""

    def __init__(self) -> None:
        self.time = 0.0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def now(self) -> float:
        """The time by this clock."""
        return self.time

    def random(self) -> float:
        """Never asked."""
        raise AssertionError

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock was moved that far."""
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.time + seconds, future))
        await future

    async def pass_by(self, seconds: float) -> None:
        """Let time go by, a little at a time."""
        await asyncio.sleep(0)
        for _ in range(round(seconds / 0.05)):
            self.time += 0.05
            due = [sleeper for sleeper in self._sleepers if sleeper[0] <= self.time + 1e-9]
            self._sleepers = [sleeper for sleeper in self._sleepers if sleeper not in due]
            for _, future in due:
                if not future.done():
                    future.set_result(None)
            await asyncio.sleep(0)
            await asyncio.sleep(0)


class Watched:
    """A terminal with a live console, and a clock to move."""

    def __init__(self, columns: int = 80, *, height: int = 24, outcome: bool = True) -> None:
        self.terminal = SmallTerminal(columns, height)
        self.clock = HandClock()
        environ = {**XTERM, "COLUMNS": str(columns)}
        self.console = LiveConsole(self.terminal, self.clock, outcome=outcome, environ=environ)

    def tell(self, *events: Event) -> None:
        """Show these events."""
        for event in events:
            self.console(event)

    @property
    def lines(self) -> list[str]:
        """What can be read, the turning sign left out."""
        return [re.sub(r" ?  +", "  ", SPINNER.sub("", line)) for line in self.terminal.lines]

    @property
    def last(self) -> str:
        """The last line."""
        return self.lines[-1] if self.lines else ""


@asynccontextmanager
async def watching(columns: int = 80, *, height: int = 24) -> AsyncIterator[Watched]:
    """A console while it runs."""
    watched = Watched(columns, height=height)
    async with watched.console.running():
        yield watched


def cut(text: str, size: int | random.Random) -> Iterator[str]:
    """`text` in pieces of `size` characters, or of any size up to 20."""
    start = 0
    while start < len(text):
        step = size if isinstance(size, int) else size.randint(1, 20)
        yield text[start : start + step]
        start += step


def text_events(text: str, size: int | random.Random = 3, part: int = 0) -> Iterator[Event]:
    """A text as it arrives."""
    yield TextStarted(part)
    for piece in cut(text, size):
        yield TextDelta(part, piece)
    yield TextEnded(part, text)


def call_events(call: ToolCall, size: int = 3, part: int = 1) -> Iterator[Event]:
    """A call as it arrives."""
    yield ToolCallStarted(part, call.id, call.name)
    for piece in cut(call.arguments, size):
        yield ToolCallDelta(part, piece)
    yield ToolCallEnded(part, call)


def whole(*content: Text | ToolCall) -> Iterator[Event]:
    """The end of a reply, and its way into the history."""
    calls = any(isinstance(part, ToolCall) for part in content)
    reply = AssistantMessage(content, StopReason.TOOL_USE if calls else StopReason.END_TURN)
    yield ReplyEnded(reply, None)
    yield MessageAdded(reply)


def a_run() -> list[Event]:
    """A run of two turns: text and a call, and an answer."""
    return [
        RunStarted(20),
        MessageAdded(UserMessage("go")),
        TURN,
        ReplyStarted(),
        *text_events("I write it.\n\nNow."),
        *call_events(CALL),
        *whole(Text("I write it.\n\nNow."), CALL),
        ToolStarted(CALL),
        ToolFinished(CALL, ToolResult("c1", "write_file", "Wrote 5 bytes.")),
        TurnStarted(2, Request(())),
        ReplyStarted(),
        *text_events("Done."),
        *whole(Text("Done.")),
        RunEnded(None, None),
    ]


def without_pieces(events: Iterable[Event]) -> list[Event]:
    """The same run with a model that does not stream."""
    pieces = (TextStarted, TextDelta, TextEnded, ToolCallStarted, ToolCallDelta, ToolCallEnded)
    return [event for event in events if not isinstance(event, (*pieces, ReplyStarted, ReplyEnded))]


class TestText:
    """Text while it comes."""

    def test_each_piece_is_on_the_screen_before_the_next_one_comes(self) -> None:
        watched = Watched()
        watched.tell(TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "Hel"))
        assert watched.last == "model  Hel"
        watched.tell(TextDelta(0, "lo wor"))
        assert watched.last == "model  Hello wor"

    def test_a_run_that_arrives_in_pieces_ends_as_one_that_does_not(self) -> None:
        live, still = Watched(), SmallTerminal()
        live.tell(*a_run())
        console = Console(still, environ=XTERM)
        for event in without_pieces(a_run()):
            console(event)
        assert live.terminal.lines == still.lines

    def test_nothing_that_was_written_is_written_again(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *text_events("word " * 500, random.Random(1)))
        typed = "".join(watched.terminal.typed)
        assert typed.count("word") == 500
        assert set(re.findall(r"\x1b\[?[0-9;]*.", typed)) == {"\x1b[1m", "\x1b[0m"}

    @pytest.mark.parametrize("columns", [40, 80, 200])
    @pytest.mark.parametrize("size", [1, 2, 7, 10_000, "any"])
    @pytest.mark.parametrize(
        "text",
        [
            "The quick brown fox jumps over the lazy dog, again and again and again. " * 6,
            "  indented, and long enough to be folded somewhere in the middle of this line " * 2,
            "one\n\n\ntwo\n    three\n\tfour\n",
            "你好世界，这是一个很长的句子，没有空格。" * 6,
            "mixed 你好 and e\u0301 combining u\u0308ber " * 8,
            "emoji 🎉🎉🎉 family 👩\u200d👩\u200d👧 flag 🇩🇪 " * 6,
            "x" * 500,
            "https://example.org/" + "a/very/long/path/" * 20 + " and then words",
            "windows\r\nline ends\r\n" * 4,
            "red \x1b[31mred\x1b[0m title \x1b]0;owned\x07 up \x1b[2A bidi \u202egnp.exe\u202c "
            * 4,
            "a\tb\tc\td " * 20,
            "   ",
            "ends in blanks    \n\n\n",
        ],
    )
    def test_no_letter_is_lost_and_no_line_too_wide(
        self, text: str, size: int | str, columns: int
    ) -> None:
        pieces = random.Random(1) if isinstance(size, str) else size
        watched = Watched(columns)
        watched.tell(ReplyStarted(), *text_events(text, pieces))
        still = Watched(columns)
        still.tell(MessageAdded(AssistantMessage((Text(text),))))
        seen, expected = ("".join("".join(each.lines).split()) for each in (watched, still))
        assert seen == expected
        assert not watched.terminal.wrapped
        limit = min(columns, 100)
        assert all(sum(map(columns_of, line)) <= limit for line in watched.terminal.lines)

    @pytest.mark.parametrize("size", [1, 3, 1000])
    @pytest.mark.parametrize("columns", [40, 80])
    def test_a_word_of_up_to_half_a_line_stays_whole(self, size: int, columns: int) -> None:
        words = [letter * length for length in range(1, 17) for letter in "abc"]
        random.Random(3).shuffle(words)
        watched = Watched(columns)
        watched.tell(ReplyStarted(), *text_events(" ".join(words), size))
        assert " ".join(watched.lines).split()[1:] == words

    @pytest.mark.parametrize("columns", [40, 80])
    @pytest.mark.parametrize("size", [1, 3, 1000])
    @pytest.mark.parametrize(
        "text",
        [
            "The quick brown fox jumps over the lazy dog, again and again and again. " * 6,
            "\n\nOne.\n\n\n  Two, and this line is indented, so that what is folded is, too.\n\n",
            "\ta\tbc\tdef\tghij\tk\nx\ty and some more words to fill the line up\tto\tits\tend",
            " " * 60 + "far to the right, where only half of the line is left for the words\nend",
            "one  two   three    four",
            "a line with blanks at its end  \nand another one   \n   \nend",
        ],
    )
    def test_it_is_laid_out_as_if_it_had_come_at_once(
        self, text: str, size: int, columns: int
    ) -> None:
        watched, still = Watched(columns), Watched(columns)
        watched.tell(ReplyStarted(), *text_events(text, size))
        still.tell(MessageAdded(AssistantMessage((Text(text),))))
        assert watched.terminal.lines == still.terminal.lines

    @pytest.mark.parametrize("size", [1, 3, 1000])
    def test_a_line_may_be_broken_beside_any_chinese_character(self, size: int) -> None:
        watched = Watched(40)
        watched.tell(ReplyStarted(), *text_events("我 say: some more words " + "你" * 20, size))
        assert watched.terminal.lines == [
            "model   我 say: some more words " + "你" * 4,
            " " * 8 + "你" * 16,
        ]

    def test_only_a_word_that_may_not_fit_waits_for_its_end(self) -> None:
        watched = Watched(40)  # 32 for the text
        watched.tell(ReplyStarted(), TextStarted(0), TextDelta(0, "A beginning wor"))
        assert watched.last == "model  A beginning wor"
        watched.tell(TextDelta(0, "d, and unfore"))
        assert watched.last == "model  A beginning word, and"
        watched.tell(TextDelta(0, "seen"))
        assert watched.last == "model  A beginning word, and"
        watched.tell(TextDelta(0, "ness"))
        assert watched.last == "  unforeseenness"

    def test_an_escape_sequence_cut_in_two_acts_as_little_as_a_whole_one(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), TextDelta(0, "a\x1b"), TextDelta(0, "[2J\u202e"))
        watched.tell(TextEnded(0, ""))
        assert watched.last == r"model  a\x1b[2J\u202e"

    def test_an_encoding_that_lacks_a_character_does_not_break_the_layout(self) -> None:
        class Ascii(SmallTerminal):
            encoding = "ascii"

        terminal = Ascii(40)
        console = LiveConsole(terminal, FakeClock(), environ={**XTERM, "COLUMNS": "40"})
        for event in text_events("你好" * 30, 1):
            console(event)
        assert not terminal.wrapped
        assert "".join("".join(terminal.lines).split()) == "model" + r"\u4f60\u597d" * 30

    def test_text_of_a_reply_that_has_only_blanks_is_not_shown(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *text_events(" \n \n"), *whole(Text(" \n \n"), CALL))
        assert watched.lines == []

    def test_what_came_only_with_the_end_of_a_reply_is_shown_then(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *text_events("I cannot. "))
        watched.tell(*whole(Text("I cannot. "), Text("It is forbidden.")))
        assert watched.lines == ["model  I cannot.", "model  It is forbidden."]

    def test_another_text_than_the_one_that_came_is_shown_as_well(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *text_events("Yes."), *whole(Text("No.")))
        assert watched.lines == ["model  Yes.", "model  No."]

    def test_a_reply_that_nobody_kept_is_no_part_of_the_next_one(self) -> None:
        watched = Watched()
        ended, _added = whole(Text("One."))
        watched.tell(ReplyStarted(), *text_events("One."), ended)
        watched.tell(ReplyStarted(), *text_events("Two."), *whole(Text("Two.")))
        assert watched.lines == ["model  One.", "model  Two."]

    def test_the_same_words_without_pieces_are_said_a_second_time(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *text_events("Yes."), *whole(Text("Yes.")))
        watched.tell(MessageAdded(AssistantMessage((Text("Yes."),))))
        assert watched.lines == ["model  Yes.", "model  Yes."]

    def test_text_after_a_call_is_a_text_of_its_own(self) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), TextStarted(0), TextDelta(0, "One"))
        watched.tell(*call_events(CALL), TextDelta(0, " two"), TextEnded(0, "One two"))
        watched.tell(*whole(Text("One two"), CALL))
        assert watched.lines == ["model  One", "model  two"]

    @pytest.mark.parametrize(
        ("events", "shown"),
        [
            ([*text_events("Yes."), *whole(Text("Yes."))], True),
            ([*text_events("Yes"), *whole(Text("Yes."))], False),
            ([*whole(Text("Yes."))], False),
            ([*text_events("Yes."), ReplyEnded(None, BROKEN)], False),
        ],
    )
    def test_whether_a_reply_can_be_read_already_is_known(
        self, events: list[Event], shown: bool
    ) -> None:
        watched = Watched(outcome=False)
        watched.tell(ReplyStarted(), *events)
        assert watched.console.has_shown_the_reply is shown


class HeldBack(httpx2.AsyncBaseTransport):
    """A provider that sends no second piece before the first one was seen."""

    def __init__(self, seen: Callable[[], bool]) -> None:
        self._seen = seen
        self.was_seen = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """The stream."""
        stream = Body(self._pieces())
        headers = {"content-type": "text/event-stream"}
        return httpx2.Response(200, headers=headers, stream=stream, request=request)

    async def _pieces(self) -> AsyncIterator[bytes]:
        yield chunk("Hel")
        for _ in range(100):
            if self._seen():
                self.was_seen = True
                break
            await asyncio.sleep(0.01)
        yield chunk("lo.", "stop") + b"data: [DONE]\n\n"


class Body(httpx2.AsyncByteStream):
    """The body of an answer."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces


def chunk(text: str, finish: str | None = None) -> bytes:
    """An event of Chat Completions, as it is sent."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return f"data: {json.dumps({'choices': [choice]})}\n\n".encode()


async def test_the_first_word_is_on_the_screen_before_the_second_is_sent() -> None:
    watched = Watched()
    provider = HeldBack(lambda: watched.last == "model  Hel")
    access = Access("http://provider.example/v1", "a-key", "a-model")
    async with open_streaming_model(KNOWN["openai"], access, transport=provider) as model:
        await model.reply(Request((UserMessage("go"),)), watched.console)
    assert provider.was_seen
    assert watched.last == "model  Hello."


class TestCost:
    """What a long reply costs."""

    def test_a_word_without_end_costs_no_more(self) -> None:
        live = LiveText("model   ", 80)
        written = [live.feed("x") for _ in range(100_000)]
        assert "".join(written).count("x") == 100_000
        assert max(map(len, written)) < 20


class NoTerminal(io.StringIO):
    """A terminal that forgets."""

    def isatty(self) -> bool:
        """Yes."""
        return True

    def write(self, text: str) -> int:
        """Forget it."""
        return len(text)


class TestStatus:
    """The line that says what is waited for."""

    async def test_it_says_how_long_the_first_word_is_waited_for(self) -> None:
        async with watching() as watched:
            watched.tell(TURN)
            await watched.clock.pass_by(0.2)
            assert watched.last == "wait  for the first word"
            await watched.clock.pass_by(3)
            assert watched.last == "wait  for the first word, 3 s"
            watched.tell(ReplyStarted(), TextStarted(0))
            assert watched.last == "wait  for the first word, 3 s"
            watched.tell(TextDelta(0, "Hi"))
            assert watched.lines[1:] == ["model  Hi"]

    async def test_it_says_what_is_thought(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), ThinkingStarted(0))
            await watched.clock.pass_by(1.5)
            assert watched.last == "think  2 s"
            watched.tell(ThinkingDelta(0, "h" * 1234))
            await watched.clock.pass_by(0.5)
            assert watched.last == "think  1,234 characters so far, 2 s"
            watched.tell(ThinkingEnded(0, "h" * 1234), *text_events("Hm.", part=1))
            assert watched.lines[1:] == ["think  1,234 characters, 2.0 s", "model  Hm."]

    async def test_a_thought_is_over_when_the_text_begins_whenever_it_is_said_to_end(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), ThinkingStarted(0), ThinkingDelta(0, "hm"))
            watched.tell(TextStarted(1), TextDelta(1, "One"), ThinkingEnded(0, "hm"))
            watched.tell(TextDelta(1, " two"), TextEnded(1, "One two"))
            assert watched.lines[1:] == ["think  2 characters, 0.0 s", "model  One two"]

    async def test_it_says_how_much_of_a_call_was_written(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), *text_events("I write."))
            watched.tell(ToolCallStarted(1, "c1", "write_file"), ToolCallDelta(1, "x" * 12_345))
            await watched.clock.pass_by(0.2)
            assert watched.last == "call  write_file, 12,345 characters so far"
            watched.tell(ToolCallStarted(2, "c2", "\x1bglob"), ToolCallDelta(2, "xx"))
            await watched.clock.pass_by(0.2)
            assert watched.last == r"call  \x1bglob, 2 characters so far (1 more in this reply)"
            watched.tell(ToolCallDelta(1, "xxxxx"))
            await watched.clock.pass_by(0.2)
            assert watched.last.startswith("call  write_file, 12,350 characters so far")

    async def test_the_line_about_a_call_gives_way_to_the_call(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), *call_events(CALL, part=0))
            await watched.clock.pass_by(0.2)
            assert watched.last == "call  write_file, 17 characters so far"
            watched.tell(*whole(CALL))
            assert len(watched.lines) == 1
            watched.tell(ToolStarted(CALL))
            assert watched.lines[1:] == ['call  write_file {"path": "a.txt"}']

    async def test_a_text_that_is_said_to_end_late_does_not_hide_the_call(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "Hi"))
            watched.tell(ToolCallStarted(1, "c1", "shell"), TextEnded(0, "Hi"))
            await watched.clock.pass_by(0.2)
            assert watched.last == "call  shell, 0 characters so far"

    async def test_a_name_that_comes_late_is_shown_then(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), ToolCallStarted(0, "c1", ""))
            await watched.clock.pass_by(0.2)
            assert watched.last == "call  a tool, 0 characters so far"
            watched.tell(ToolCallEnded(0, CALL))
            await watched.clock.pass_by(0.2)
            assert watched.last == "call  write_file, 17 characters so far"

    async def test_a_text_that_has_only_blanks_so_far_is_waited_for(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "\n\n"))
            await watched.clock.pass_by(3)
            assert watched.lines[1:] == ["wait  for more, 3 s"]

    async def test_it_is_drawn_ten_times_a_second_at_most(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), ToolCallStarted(0, "c1", "write_file"))
            before = len(watched.terminal.typed)
            for _ in range(20):
                watched.tell(*[ToolCallDelta(0, "x")] * 50)
                await watched.clock.pass_by(0.05)
            assert 8 <= len(watched.terminal.typed) - before <= 10

    async def test_it_counts_down_to_the_next_try(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyEnded(None, LIMITED), RetryScheduled(2, 4.0, LIMITED))
            await watched.clock.pass_by(0.2)
            assert watched.lines[1:] == [
                "again  rate limit, sent again in 4.0 s as number 2",
                "wait  3.8 s to try again (rate limit)",
            ]
            await watched.clock.pass_by(2)
            assert watched.last == "wait  1.8 s to try again (rate limit)"
            await watched.clock.pass_by(5)
            assert watched.last == "wait  for the first word, 3 s"

    @pytest.mark.parametrize("height", [3, 24])
    async def test_below_a_text_that_has_stopped_it_says_so(self, height: int) -> None:
        async with watching(height=height) as watched:
            watched.tell(TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "One\ntwo\nthr"))
            await watched.clock.pass_by(1.5)
            assert watched.last == "  thr"
            await watched.clock.pass_by(1.5)
            assert watched.lines[-2:] == ["  thr", "wait  for more, 3 s"]
            watched.tell(TextDelta(0, "ee"))
            assert watched.last == "  three"
            await watched.clock.pass_by(0.5)
            assert watched.last == "  three"

    async def test_the_wait_for_a_server_that_is_to_be_left_alone_is_counted_in_seconds(
        self,
    ) -> None:
        async with watching() as watched:
            watched.tell(TURN, RetryScheduled(2, 12.0, LIMITED))
            await watched.clock.pass_by(0.2)
            assert watched.last == "wait  12 s to try again (rate limit)"
            await watched.clock.pass_by(11.75)
            assert watched.last == "wait  0.1 s to try again (rate limit)"

    @pytest.mark.parametrize("columns", [40, 80])
    @pytest.mark.parametrize(
        "name",
        ["a\nb\tc", "write\r\nresult  Wrote 5 bytes.", "\x1b[2J\x1b[H", "\n" * 300, "x\u2028y"],
    )
    async def test_no_name_of_a_tool_writes_lines_of_its_own(self, name: str, columns: int) -> None:
        async with watching(columns) as watched:
            watched.tell(ReplyStarted(), ToolCallStarted(0, "c", name))
            await watched.clock.pass_by(0.2)
            assert len(watched.lines) == 1
            assert watched.last.startswith("call ")
            call = ToolCall("c", name, "{}")
            watched.tell(ToolCallEnded(0, call), ReplyEnded(None, BROKEN), ToolStarted(call))
            margins = [line[:8].strip() for line in watched.terminal.lines]
            assert [each for each in margins if each] == ["broken", "call"]
            assert all(len(line) <= columns for line in watched.terminal.lines)
            assert not watched.terminal.wrapped

    async def test_whatever_is_waited_for_is_said_on_one_line(self) -> None:
        for text in ("a\nb", "a\tb", "\x1b[2J", "long " * 500):
            terminal = SmallTerminal()
            status = StatusLine(Screen(terminal, XTERM))
            status.draw("wait", text)
            assert len(terminal.lines) == 1
            assert not terminal.wrapped
            status.erase()
            assert terminal.lines == []

    async def test_without_colours_there_is_a_line_too_and_text_while_it_comes(self) -> None:
        terminal, clock = SmallTerminal(), HandClock()
        console = LiveConsole(terminal, clock, environ={**XTERM, "NO_COLOR": "1"})
        async with console.running():
            begun: list[Event] = [TURN, ReplyStarted(), TextStarted(0)]
            for event in begun:
                console(event)
            await clock.pass_by(0.2)
            assert "for the first word" in terminal.lines[-1]
            console(TextDelta(0, "Hi"))
            assert terminal.lines[-1] == "model   Hi"
            for event in (TextEnded(0, "Hi"), *whole(Text("Hi"))):
                console(event)
        assert console.has_shown_the_reply
        typed = "".join(terminal.typed)
        assert "\x1b[K" in typed
        assert not re.search(r"\x1b\[[0-9;]*m", typed)

    async def test_while_a_tool_runs_there_is_none(self) -> None:
        """Somebody may be asked then, and is typing."""
        async with watching() as watched:
            events = a_run()
            watched.tell(*events[: events.index(ToolStarted(CALL)) + 1])
            typed = len(watched.terminal.typed)
            await watched.clock.pass_by(5)
            assert len(watched.terminal.typed) == typed

    @pytest.mark.parametrize("columns", [40, 80])
    async def test_it_is_never_wider_than_the_terminal(self, columns: int) -> None:
        async with watching(columns) as watched:
            watched.tell(ReplyStarted(), ToolCallStarted(0, "c", "名" * 300))
            await watched.clock.pass_by(0.2)
            assert len(watched.lines) == 1
            assert not watched.terminal.wrapped

    @pytest.mark.parametrize(
        "waiting",
        [
            [TURN],
            [TURN, ReplyStarted(), ThinkingStarted(0)],
            [TURN, ReplyStarted(), ToolCallStarted(0, "c", "shell")],
            [TURN, RetryScheduled(2, 4.0, LIMITED)],
            [TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "Hello")],
        ],
    )
    @pytest.mark.parametrize("end", [None, ValueError("a bug"), asyncio.CancelledError()])
    async def test_it_is_gone_at_the_end_whatever_the_end_is(
        self, waiting: list[Event], end: BaseException | None
    ) -> None:
        watched, tasks = Watched(), asyncio.all_tasks()
        try:
            async with watched.console.running():
                watched.tell(*waiting)
                await watched.clock.pass_by(3)
                assert SPINNER.search("".join(watched.terminal.lines))
                if end is not None:
                    raise end
        except BaseException as error:
            assert error is end  # noqa: PT017
        assert not SPINNER.search("".join(watched.terminal.lines))
        assert watched.terminal.at_left_edge
        typed = len(watched.terminal.typed)
        await watched.clock.pass_by(3)
        assert len(watched.terminal.typed) == typed
        assert asyncio.all_tasks() == tasks

    async def test_a_ctrl_c_that_the_terminal_writes_is_gone_with_it(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), ToolCallStarted(0, "c", "shell"))
            await watched.clock.pass_by(0.2)
            watched.terminal.write("^C")
            watched.tell(ReplyEnded(None, asyncio.CancelledError()))
            assert watched.lines[1].startswith("broken  The reply was stopped here")

    async def test_a_terminal_that_is_gone_ends_the_line_and_nothing_else(self) -> None:
        watched, tasks = Watched(), asyncio.all_tasks()
        complaints: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, told: complaints.append(told))
        async with watched.console.running():
            watched.tell(TURN)
            watched.terminal.fails = OSError(5, "Input/output error")
            await watched.clock.pass_by(3)
        assert asyncio.all_tasks() == tasks
        gc.collect()
        assert complaints == []

    @pytest.mark.parametrize("events", [[], [ReplyStarted(), TextDelta(0, "Hi")]])
    async def test_a_reader_who_has_left_ends_the_program(self, events: list[Event]) -> None:
        watched = Watched()

        async def run() -> None:
            async with watched.console.running():
                watched.tell(TURN)
                await watched.clock.pass_by(0.2)
                watched.terminal.fails = BrokenPipeError()
                await watched.clock.pass_by(3)
                watched.tell(*events)

        with pytest.raises(BrokenPipeError):
            await run()


class TestBrokenReply:
    """A reply that is none."""

    async def test_what_was_shown_stays_and_it_is_said_that_nothing_was_used(self) -> None:
        async with watching() as watched:
            watched.tell(TURN, ReplyStarted(), TextStarted(0), TextDelta(0, "I will del"))
            watched.tell(ReplyEnded(None, BROKEN), RetryScheduled(2, 0.5, BROKEN))
            watched.tell(ReplyStarted(), *text_events("I look."), *whole(Text("I look.")))
            assert watched.lines[1:] == [
                "model  I will del",
                "broken  The reply broke off here. Nothing of it was used.",
                "again  broken off, sent again in 0.5 s as number 2",
                "model  I look.",
            ]

    @pytest.mark.parametrize(
        ("events", "error", "line"),
        [
            (
                [ToolCallStarted(0, "c", "write_file"), ToolCallDelta(0, "x" * 1200)],
                BROKEN,
                "The reply broke off here, in a call: write_file, 1,200 characters. Nothing of it"
                " was used.",
            ),
            (
                [TextStarted(0), TextDelta(0, "Hi")],
                asyncio.CancelledError(),
                "The reply was stopped here. Nothing of it was used.",
            ),
            ([ThinkingStarted(0)], BROKEN, "The reply broke off here. Nothing of it was used."),
        ],
    )
    def test_where_it_broke_off_is_said(
        self, events: list[Event], error: BaseException, line: str
    ) -> None:
        watched = Watched()
        watched.tell(ReplyStarted(), *events, ReplyEnded(None, error))
        watched.tell(ReplyEnded(None, error))  # of the next request, which brought nothing
        said = " ".join(" ".join(watched.lines).split())
        assert said.endswith(f"broken {line}")
        assert said.count("broken") == 1

    def test_of_a_request_that_brought_nothing_only_the_next_try_is_told(self) -> None:
        watched = Watched()
        watched.tell(ReplyEnded(None, LIMITED), RetryScheduled(2, 2.0, LIMITED))
        watched.tell(ReplyEnded(None, LIMITED))
        assert watched.lines == ["again  rate limit, sent again in 2.0 s as number 2"]

    @pytest.mark.parametrize(
        ("error", "why"),
        [
            (LIMITED, "rate limit"),
            (ProviderError("", kind="provider", status=529), "overloaded"),
            (ProviderError("", kind="provider", status=500), "HTTP 500"),
            (ProviderError("", kind="provider", status=200, type="api_error"), A_FAULT),
            (ProviderError("", kind="provider", status=200, type="overloaded_error"), "overloaded"),
            (ProviderError("", kind="provider", code="rate_limit_exceeded"), "rate limit"),
            (ProviderError("", kind="provider", type="DEADLINE_EXCEEDED"), "time-out"),
            (ProviderError("", kind="provider", code="503"), "overloaded"),
            (ProviderError("", kind="provider", status=200, code="429"), "rate limit"),
            (ProviderError("", kind="provider", status=200, code="520"), "HTTP 520"),
            (ProviderError("", kind="provider", status=200), A_FAULT),
            (ProviderError("", kind="provider", status=200, code=KEY), A_FAULT),
            (ProviderError("", kind="provider", status=200, type=KEY), A_FAULT),
            (ProviderError("", kind="provider", status=200, code=f"busy {KEY}"), "overloaded"),
            (ProviderError("", kind="provider", status=200, code="a\nb\x1b[2J"), A_FAULT),
            (ProviderError("", kind="connection"), "connection failed"),
            (ProviderError("", kind="timeout"), "time-out"),
            (ProviderError("", kind="bad_response"), "unreadable answer"),
            (ProviderError("", kind="of\x1btomorrow"), A_FAULT),
            (ValueError("a secret"), "ValueError"),
        ],
    )
    def test_why_it_is_sent_again_is_said_in_a_few_words(
        self, error: BaseException, why: str
    ) -> None:
        watched = Watched()
        watched.tell(RetryScheduled(3, 12.0, error))
        assert watched.lines == [f"again  {why}, sent again in 12 s as number 3"]


class Pipe(io.StringIO):
    """What is no terminal."""


@pytest.mark.parametrize(
    ("stream", "environ"),
    [
        (Pipe, XTERM),
        (SmallTerminal, {"TERM": "dumb"}),
        (Pipe, {**XTERM, "NO_COLOR": "1"}),
    ],
    ids=["a pipe", "a dumb terminal", "a pipe without colours"],
)
class TestPlain:
    """Where nothing can be drawn, or nobody wants that."""

    @pytest.mark.parametrize("outcome", [True, False])
    async def test_a_run_reads_as_if_nothing_had_come_in_pieces(
        self, stream: type[io.StringIO], environ: dict[str, str], outcome: bool
    ) -> None:
        told, untold = stream(), stream()
        clock = HandClock()
        live = LiveConsole(told, clock, outcome=outcome, environ=environ)
        still = Console(untold, outcome=outcome, environ=environ)
        async with live.running():
            for event in a_run():
                live(event)
                await clock.pass_by(0.2)
        for event in without_pieces(a_run()):
            still(event)
        assert written(told) == written(untold)
        assert "\x1b" not in written(told)
        assert not live.has_shown_the_reply

    async def test_what_came_of_a_broken_reply_is_not_lost(
        self, stream: type[io.StringIO], environ: dict[str, str]
    ) -> None:
        out = stream()
        live = LiveConsole(out, FakeClock(), outcome=False, environ=environ)
        events: list[Event] = [
            ReplyStarted(),
            ThinkingStarted(0),
            ThinkingDelta(0, "hm"),
            TextStarted(1),
            TextDelta(1, "I wi\x1b"),
            TextDelta(1, "ll\n"),
            ReplyEnded(None, BROKEN),
            RetryScheduled(2, 0.5, BROKEN),
        ]
        for event in events:
            live(event)
        assert written(out) == (
            "model   I wi\\x1bll\n"
            "broken  The reply broke off here. Nothing of it was used.\n"
            "again   broken off, sent again in 0.5 s as number 2\n"
        )


def written(stream: io.StringIO) -> str:
    """All that was written."""
    return "".join(stream.typed) if isinstance(stream, SmallTerminal) else stream.getvalue()
