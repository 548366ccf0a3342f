"""JSON that looks like an answer and has anything anywhere: for tests of what reads answers."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st


def odd_answers(key: str, words: str) -> st.SearchStrategy[Any]:
    """Values that are mostly objects with `key`, in it mostly a list of objects.

    Names and texts are taken from `words`, separated by blanks.
    """
    word = st.sampled_from(words.split())
    scalar = st.none() | st.booleans() | st.integers() | st.floats() | word | st.just("\ud83d")
    value = st.recursive(
        scalar,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(word, inner, max_size=5),
        max_leaves=12,
    )
    entry = st.dictionaries(word, value, max_size=6)
    # Half of the entries are of a kind that the reader knows, so that it looks into them.
    typed = st.builds(lambda fields, kind: {**fields, "type": kind}, entry, word)
    listed = st.lists(typed | typed | entry | value, max_size=4)
    body = st.builds(lambda fields, found: {**fields, key: found}, entry, listed | value)
    return body | body | value
