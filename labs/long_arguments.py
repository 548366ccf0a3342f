"""The second part of lab 5: a long argument, shown while it arrives and run when it is whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from chapters.ch05.preview import Preview
from labs.experiment import Answers, code_word, observe
from labs.faulty_provider import streaming_from
from shared.events import Event, ToolCallDelta
from shared.facts import Facts
from shared.plan import Kit, Plan
from shared.provider_server import ProviderServer, completion, wire_call
from shared.provider_stream import stream_of, streamed
from shared.screen import Screen

SIZE = 200_000  # characters of the argument
STEP = 400  # of one piece
FAIR = 15  # times its size: what all previews together may read, however long the text is


# region: shown
@dataclass
class Shown:
    """A listener that previews the arguments at each piece, and remembers what that took.

    `values` are the previews, each with the number of characters that had arrived by then.
    """

    preview: Preview
    values: list[tuple[int, dict[str, object]]] = field(default_factory=list)
    pieces: int = 0
    arrived: int = 0

    def note(self, event: Event) -> None:
        """Preview, if it is a piece of arguments."""
        if not isinstance(event, ToolCallDelta):
            return
        self.pieces += 1
        self.arrived += len(event.arguments)
        self.preview.feed(event.arguments)
        value = self.preview.so_far()
        if not self.values or value is not self.values[-1][1]:  # else nothing was parsed
            self.values.append((self.arrived, value))

    @property
    def read(self) -> int:
        """The characters that all previews together have read."""
        return sum(size for size, _ in self.values)


# endregion: shown


async def long_arguments(
    facts: Facts, workspace: Path, plan: Callable[[Kit], Plan], out: TextIO
) -> None:
    """A file of 200 KB, written by one call."""
    screen = Screen(out)
    screen.line(f"\n2. An argument of {SIZE:,} characters, shown while it arrives\n")
    content, path = long_text(), f"{code_word()}.txt"
    call = wire_call("call_1", "write_file", {"path": path, "content": content})
    script = (completion(call), completion(text="It is written."))
    unseen = io.StringIO()  # a transcript of all this would show nothing new
    shown, person = Shown(Preview()), Answers(("write_file",), unseen)
    with ProviderServer(*[streamed(*stream_of(reply, step=STEP)) for reply in script]) as server:
        async with streaming_from(server) as model:
            await observe(
                plan,
                workspace,
                "Write a long file.",
                script=(),
                live=model,
                approver=person,
                listeners=[shown.note],
                out=unseen,
            )
    show(screen, shown)
    screen.line("\nFacts")
    check(facts, shown, content, path, workspace)


def show(screen: Screen, shown: Shown) -> None:
    """Some of the previews."""
    rest = shown.arrived - SIZE
    screen.folded(
        f"The content has {SIZE:,} characters. {shown.arrived:,} arrive: {rest:,} more, which are "
        "the path, the names, and a backslash before each character that JSON escapes. They came "
        f"in {shown.pieces:,} pieces. A screen could have shown:\n"
    )
    last = len(shown.values) - 1
    for number in range(6 if shown.values else 0):
        arrived, value = shown.values[number * last // 5]
        text = value.get("content")
        size = f"{len(text):,} characters" if isinstance(text, str) else "not begun"
        screen.line(f"  {arrived:>9,} arrived   path {value.get('path')!r}, content: {size}")
    screen.line(f"\nFor {len(shown.values):,} previews {shown.read:,} characters were read.")


def check(facts: Facts, shown: Shown, content: str, path: str, workspace: Path) -> None:
    """What must hold of the previews, and of the file."""
    early = shown.values[0][1] if shown.values else {}
    facts.check(
        "the path could be shown with the first piece", early.get("path") == path, repr(early)[:99]
    )
    facts.check(
        "each preview was a beginning of the argument, and none shrank",
        grows_to(content, [value.get("content", "") for _, value in shown.values]),
    )
    facts.check(
        f"all previews together read less than {FAIR} times the text",
        0 < shown.read < FAIR * shown.arrived,
        f"{shown.read / max(shown.arrived, 1):.1f} times",
    )
    written = workspace / path
    facts.check(
        "the file was written once, whole, when the reply had ended",
        written.is_file() and written.read_text(encoding="utf-8") == content,
        [each.name for each in workspace.iterdir()],
    )


def grows_to(whole: str, parts: Sequence[object]) -> bool:
    """Whether each of `parts` is a beginning of `whole` and at least as long as the last."""
    size = 0
    for part in parts:
        if not isinstance(part, str) or len(part) < size or not whole.startswith(part):
            return False
        size = len(part)
    return size > 0


def long_text() -> str:
    """Lines of random words, with a few characters that JSON has to escape."""
    lines = [f'{code_word()} said "{code_word()}"\\n\n' for _ in range(SIZE // 20)]
    return "".join(lines)[:SIZE]
