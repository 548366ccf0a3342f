"""Links from a sentence to the test that proves it: left out, or numbered and listed."""

from __future__ import annotations

import re

from labs.desk.chunks import chunks

PROOF_LINK = re.compile(
    r"(?<!!)\[(?P<words>(?:[^\[\]]|\[[^\[\]]*\])*)\]\([^()\s#]*\.py#(?P<test>test_\w+)\)"
)
LISTED = "proofs"  # marks the block of names, whose lines are not to be folded


def has_proofs(markdown: str) -> bool:
    """True if a sentence of the text names its test."""
    return any(chunk.fence is None and PROOF_LINK.search(chunk.text) for chunk in chunks(markdown))


def without_proofs(markdown: str) -> str:
    """The sentences alone."""
    return "\n".join(
        chunk.text if chunk.fence is not None else PROOF_LINK.sub(r"\g<words>", chunk.text)
        for chunk in chunks(markdown)
    )


def with_numbered_proofs(markdown: str) -> str:
    """Each sentence with a number, and at the end of each section the names of its tests."""
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        place = numbers.setdefault(match["test"], len(numbers) + 1)
        return f"{match['words']} [{place}]"

    def listing() -> str:
        names = "\n".join(f"{place} {test}" for test, place in numbers.items())
        numbers.clear()
        return f"```text {LISTED}\n{names}\n```"

    pieces: list[str] = []
    for chunk in chunks(markdown):
        if chunk.fence is not None:
            pieces.append(chunk.text)
            continue
        prose = ""
        for part in re.split(r"^(?=#{1,6} )", chunk.text, flags=re.M):
            if part.startswith("#") and numbers:
                prose += f"\n{listing()}\n\n"
            prose += PROOF_LINK.sub(number, part)
        pieces.append(prose)
    if numbers:
        pieces.append(f"\n{listing()}")
    return "\n".join(pieces)
