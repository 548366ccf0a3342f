"""Names and ids: legal for whom they are sent to, never two alike, the same every time."""

from __future__ import annotations

import hashlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapters.ch04.names_and_ids import CallIds, wire_name
from chapters.ch04.provider import ANY_ID, OPENAI_ID, PLAIN_ID, RESPONSES_ID, IdRule

RULES = {"any": ANY_ID, "openai": OPENAI_ID, "plain": PLAIN_ID, "responses": RESPONSES_ID}


def digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


@pytest.mark.parametrize(
    ("name", "limit", "sent"),
    [
        ("read_file", 64, "read_file"),
        ("A-b_9", 64, "A-b_9"),
        ("n" * 64, 64, "n" * 64),
        ("n" * 65, 64, "n" * 55 + "_" + digest("n" * 65)),
        ("n" * 65, 128, "n" * 65),
        ("files.read", 64, "files_read_" + digest("files.read")),
        ("日本", 64, "___" + digest("日本")),
        ("", 64, "_" + digest("")),
        ("read\n", 64, "read__" + digest("read\n")),
    ],
)
def test_a_name_is_sent_as_it_is_or_as_a_legal_one(name: str, limit: int, sent: str) -> None:
    assert wire_name(name, limit) == sent
    assert re.fullmatch(r"[A-Za-z0-9_-]+", sent)
    assert len(sent) <= limit


@given(st.lists(st.text(max_size=80), unique=True, max_size=6))
def test_two_names_are_never_sent_as_one(names: list[str]) -> None:
    assert len({wire_name(name) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("rule", "call_id", "sent", "why"),
    [
        ("any", "call.1:2", "call.1:2", "what the server has sent is good enough for it"),
        ("any", "x" * 66, "x" * 66, "also a long one"),
        ("any", "call_1|fc_1", "call_1_fc_1", "an id of two parts becomes one"),
        ("any", "call_1|", "call_1", "nothing follows the bar"),
        ("any", "x" * 50 + "|y", "x" * 40, "a new id keeps to the limit"),
        ("any", "", "call", "no id"),
        ("openai", "call.1", "call.1", "legal"),
        ("openai", "x" * 41, "x" * 40, "cut"),
        ("plain", "toolu_01-A", "toolu_01-A", "legal"),
        ("plain", "functions.read:0", "functions_read_0", "cleaned"),
        ("plain", "x" * 65, "x" * 64, "cut"),
        ("plain", "a😀b", "a__b", "two units of UTF-16"),
        ("plain", "é", "_", "one unit of UTF-16"),
        ("plain", "a\n", "a_", "a line feed at the end is no end"),
        ("responses", "call_", "call", "may not end so"),
        ("responses", "x" * 63 + "_y", "x" * 63, "not after a cut either"),
        ("responses", "___", "call", "nothing is left"),
    ],
)
def test_an_id_is_legal_for_whom_it_is_sent_to(
    rule: str, call_id: str, sent: str, why: str
) -> None:
    assert CallIds(RULES[rule]).assign(call_id) == sent, why


def test_ids_that_would_be_alike_are_told_apart() -> None:
    ids = CallIds(PLAIN_ID)
    sent = [ids.assign(call_id) for call_id in ("a.b", "a:b", "a.b", "a_b")]
    assert sent == ["a_b", *(f"a_b_{digest(text)}" for text in ("a:b/1", "a.b/1", "a_b/1"))]


def test_a_free_legal_id_is_not_changed_for_one_that_comes_later() -> None:
    ids = CallIds(PLAIN_ID)
    assert (ids.assign("a_b"), ids.assign("a.b")) == ("a_b", f"a_b_{digest('a.b/1')}")


def test_long_ids_that_begin_alike_stay_within_the_limit() -> None:
    ids = CallIds(OPENAI_ID)
    first, second = ids.assign("x" * 50 + "1"), ids.assign("x" * 50 + "2")
    assert (len(first), len(second), first != second) == (40, 40, True)


def test_where_only_letters_and_digits_are_legal_an_id_is_made_of_them() -> None:
    ids = CallIds(IdRule(r"[A-Za-z0-9]{9}", 9))
    sent = [ids.assign(call_id) for call_id in ("call_1", "call_1", "abcdefghi", "abcdefghi", "")]
    assert sent[2] == "abcdefghi"
    assert len(set(sent)) == 5
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", each) for each in sent)


def test_a_rule_that_no_id_fits_is_a_mistake_that_is_named() -> None:
    with pytest.raises(ValueError, match="fits the rule"):
        CallIds(IdRule(r"[A-Z]{9}", 9)).assign("call_1")


def test_many_calls_with_one_id_cost_no_more_each() -> None:
    ids = CallIds(PLAIN_ID)
    sent = {ids.assign("call_1") for _ in range(5_000)}
    assert len(sent) == 5_000
    assert ids._seen["call_1"] < 5_100


ids_to_send = st.lists(
    st.sampled_from(["a", "a", "a.b", "a_b", "a|b", "", "|", "_", "x" * 64, "x" * 70, "a__"])
    | st.text(max_size=70)
)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(call_ids=ids_to_send)
def test_every_id_is_legal_and_no_two_are_alike(rule: IdRule, call_ids: list[str]) -> None:
    sent = [*map(CallIds(rule).assign, call_ids)]
    assert len(set(sent)) == len(sent)
    assert all(re.fullmatch(rule.legal, each) for each in sent)


@given(ids_to_send, ids_to_send)
def test_a_history_that_has_grown_is_spelled_as_before(before: list[str], after: list[str]) -> None:
    short, long = CallIds(PLAIN_ID), CallIds(PLAIN_ID)
    first = [*map(short.assign, before)]
    assert [*map(long.assign, [*before, *after])][: len(first)] == first


@pytest.mark.parametrize("limit", [1, 5, 9, 10, 64, 4_294_967_296, 10**30])
def test_any_limit_is_kept(limit: int) -> None:
    for name in ("a", "read.file", "n" * 99, ""):
        assert 1 <= len(wire_name(name, limit)) <= limit


def test_ten_thousand_calls_with_one_id_are_told_apart() -> None:
    ids = CallIds(PLAIN_ID)
    assert len({ids.assign("call_1") for _ in range(10_000)}) == 10_000
