"""What a pattern means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch02.glob_pattern import GlobPattern

MATCHES = [
    ("a.txt", "a.txt"),
    ("*.txt", "a.txt"),
    ("*", ".hidden"),
    ("?.txt", "a.txt"),
    ("[ab].txt", "b.txt"),
    ("[a-c].txt", "b.txt"),
    ("[!a].txt", "b.txt"),
    ("[]].txt", "].txt"),
    ("[a.txt", "[a.txt"),
    ("{a,b}.txt", "{a,b}.txt"),
    ("d/*.txt", "d/a.txt"),
    ("*/*.txt", "d/a.txt"),
    ("**/*.txt", "a.txt"),
    ("**/*.txt", "d/e/a.txt"),
    ("d/**/*.txt", "d/a.txt"),
    ("d/**/*.txt", "d/e/f/a.txt"),
    ("**/e/**/*.txt", "d/e/a.txt"),
    ("**/**/a.txt", "d/a.txt"),
    ("**", "d/e/a.txt"),
    ("d/**", "d/e/a.txt"),
    ("a**.txt", "abc.txt"),
    ("*.tar.*", "x.tar.gz"),
]

DIFFERS = [
    ("a.txt", "b.txt"),
    ("*.txt", "d/a.txt"),
    ("*.txt", "a.TXT"),
    ("?.txt", "ab.txt"),
    ("[!a].txt", "a.txt"),
    ("{a,b}.txt", "a.txt"),
    ("*/z.txt", "d/e/z.txt"),
    ("d/**/*.txt", "a.txt"),
    ("d/**", "d"),
    ("**/e/*.txt", "e/f/a.txt"),
    ("*.txt", "a.txt.bak"),
    (".", "a.txt"),
]


def fits(pattern: str, path: str) -> bool:
    return GlobPattern(tuple(pattern.split("/"))).matches(tuple(path.split("/")))


@pytest.mark.parametrize(("pattern", "path"), MATCHES)
def test_it_matches(pattern: str, path: str) -> None:
    assert fits(pattern, path)


@pytest.mark.parametrize(("pattern", "path"), DIFFERS)
def test_it_does_not_match(pattern: str, path: str) -> None:
    assert not fits(pattern, path)


def test_the_beginning_without_wildcards_is_fixed() -> None:
    assert GlobPattern(("src", "lib", "*.py")).prefix == ("src", "lib")
    assert GlobPattern(("a.txt",)).prefix == ("a.txt",)
    assert GlobPattern(("**", "x")).prefix == ()


@given(st.lists(st.text("ab*?[]!-^", min_size=1, max_size=6), min_size=1, max_size=4))
@settings(deadline=None)
def test_every_pattern_can_be_asked(parts: list[str]) -> None:
    assert GlobPattern(tuple(parts)).matches(("a", "b")) in {True, False}
