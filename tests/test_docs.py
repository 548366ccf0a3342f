"""The texts tell the truth: what they show is cut from the code or run, and proofs exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.catalog import chapter_numbers
from labs.desk.book import this_book
from labs.desk.chunks import chunks
from labs.desk.docs import generate, pasted_transcripts, texts
from labs.desk.quiz import missing_proofs, questions_of
from labs.desk.terminal_text import for_terminal

BOOK = this_book()
TEXTS = texts(BOOK)


@pytest.mark.parametrize("path", TEXTS, ids=BOOK.show)
def test_a_text_shows_what_the_code_is(path: Path) -> None:
    """Not in `chapters/`: whoever edits code to try something shall not see it turn red there."""
    pytest.importorskip("cogapp", reason="pip install -e '.[dev]'")
    page = generate(BOOK, path)
    assert not page.drifted, f"refresh it with: workbook dev docs\n{page.diff}"


@pytest.mark.parametrize("path", TEXTS, ids=BOOK.show)
def test_every_transcript_is_run(path: Path) -> None:
    """A console block that nobody runs goes stale unseen. For input without output: ```sh."""
    pasted = pasted_transcripts(path.read_text(encoding="utf-8"))
    assert pasted == [], f"lines {pasted} of {BOOK.show(path)} are pasted: use cog console(...)"


@pytest.mark.parametrize("path", TEXTS, ids=BOOK.show)
def test_a_transcript_is_not_folded_on_a_terminal_of_eighty_columns(path: Path) -> None:
    for chunk in chunks(path.read_text(encoding="utf-8")):
        if (chunk.fence or "").strip() == "console":
            assert [line for line in chunk.lines if len(line) > 80] == []


@pytest.mark.parametrize("number", chapter_numbers())
def test_every_answer_of_the_self_test_is_proved_by_a_test(number: int) -> None:
    assert questions_of(BOOK, number)
    assert missing_proofs(BOOK, number) == []


@pytest.mark.parametrize("number", chapter_numbers())
def test_no_answer_can_be_seen_before_it_is_asked_for(number: int) -> None:
    text = BOOK.text_of(number).read_text(encoding="utf-8")
    shown = for_terminal(text, folder=f"chapters/ch{number:02}", answers="hidden")
    assert "<details" not in shown
    assert "[[[cog" not in shown
    for question in questions_of(BOOK, number):
        assert question.answer.splitlines()[0] not in shown
