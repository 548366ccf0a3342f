"""The questions at the end of a chapter, their answers, and the tests that prove the answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labs.desk.book import Book, DeskError
from labs.desk.grading import Grade, grade
from labs.desk.sections import cut_section

QUESTION = re.compile(
    r"<details[^>]*>\s*<summary>(?P<summary>.*?)</summary>(?P<answer>.*?)</details>", re.S
)
PROOF = re.compile(r"^Proof:(?P<tests>.*?)(?:\n\s*\n|\Z)", re.M | re.S)


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `answer` is Markdown; `proofs` are test ids, from the workbook's folder."""

    number: int
    text: str
    answer: str
    proofs: tuple[str, ...]


def questions_of(book: Book, chapter: int) -> list[Question]:
    """The self-test of a chapter. Raises DeskError if there is none."""
    readme = book.text_of(chapter)
    try:
        section = cut_section(readme.read_text(encoding="utf-8"), "self-test")
    except DeskError:
        raise DeskError(f"Chapter {chapter} has no self-test.") from None
    return [
        _question(number, match["summary"], match["answer"])
        for number, match in enumerate(QUESTION.finditer(section), start=1)
    ]


def _question(number: int, summary: str, answer: str) -> Question:
    text = re.sub(r"</?code>", "`", summary)
    text = re.sub(r"<[^>]+>", "", text)
    text = " ".join(re.sub(r"^\s*\d+\.\s*", "", text).split())
    proof = PROOF.search(answer)
    tests = tuple(re.findall(r"`([^`]+)`", proof["tests"])) if proof else ()
    return Question(number, text, PROOF.sub("", answer).strip(), tests)


def missing_proofs(book: Book, chapter: int) -> list[str]:
    """What is wrong with the proofs of a chapter: a question without one, a test that is not."""
    problems: list[str] = []
    for question in questions_of(book, chapter):
        where = f"chapter {chapter}, question {question.number}"
        if not question.proofs:
            problems.append(f"{where}: no proof")
        if not question.answer:
            problems.append(f"{where}: no answer")
        problems += [
            f"{where}: there is no test {proof}"
            for proof in question.proofs
            if not proof_exists(book.root, proof)
        ]
    return problems


def proof_exists(root: Path, proof: str) -> bool:
    """True if `path::test` or `path::Class::test` is in the source; nothing is imported."""
    path, *names = proof.split("::")
    file = root / path
    if not names or not file.is_file():
        return False
    body: Sequence[ast.stmt] = ast.parse(file.read_text(encoding="utf-8")).body
    for name in names:
        plain = name.partition("[")[0]
        found = [
            node
            for node in body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == plain
        ]
        if not found:
            return False
        body = found[-1].body
    return names[-1].startswith("test")


def prove(book: Book, questions: Sequence[Question]) -> list[tuple[Question, bool]]:
    """Run the tests behind the answers, all in one go; per question, whether they all passed."""
    proofs = list(dict.fromkeys(proof for question in questions for proof in question.proofs))
    result = grade(book, proofs, "solution", seconds=60)
    if result.broken:
        raise DeskError("The tests could not be run:\n" + "\n".join(result.broken))
    return [
        (question, all(_proved(result, proof) for proof in question.proofs))
        for question in questions
    ]


def _proved(result: Grade, proof: str) -> bool:
    ours = [v for v in result.verdicts if v.test == proof or v.test.startswith(f"{proof}[")]
    return bool(ours) and all(v.outcome != "failed" for v in ours)
