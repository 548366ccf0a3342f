"""The policy as a table: every combination of two and three participants."""

from __future__ import annotations

from itertools import product

import pytest

from chapters.ch03.policy import combine
from shared.decision import Behaviour, Decision

ALL = [
    Decision(behaviour, "", f"{behaviour}{' of a person' if person else ''}", person)
    for behaviour in Behaviour
    for person in (False, True)
]
COMBINATIONS = [(), *((each,) for each in ALL), *product(ALL, repeat=2), *product(ALL, repeat=3)]


def strictest(said: set[str]) -> str:
    """The rule of the chapter once more, in other words than the code's."""
    if said & {"deny", "deny of a person"}:
        return "deny"
    if "ask of a person" in said:
        return "ask"
    if "allow of a person" in said:
        return "allow"
    return "ask" if "ask" in said else "allow"


@pytest.mark.parametrize("first", [None, *ALL], ids=lambda first: first.source if first else "none")
def test_of_all_combinations_the_strictest_counts(first: Decision | None) -> None:
    mine = [each for each in COMBINATIONS if (each[0] if each else None) == first]
    for decisions in mine:
        said = {decision.source for decision in decisions}
        assert combine(decisions).behaviour == strictest(said), said


def test_the_table_holds_all_combinations_of_two_and_three() -> None:
    assert len(ALL) == 8
    assert len(COMBINATIONS) == 1 + 8 + 8**2 + 8**3


def test_the_order_of_the_participants_changes_nothing_but_the_reason() -> None:
    for decisions in COMBINATIONS:
        assert combine(decisions).behaviour == combine(decisions[::-1]).behaviour


@pytest.mark.parametrize("behaviour", [Behaviour.DENY, Behaviour.ASK, Behaviour.ALLOW])
def test_of_two_equally_strict_the_first_gives_the_reason(behaviour: Behaviour) -> None:
    first, second = Decision(behaviour, "one", "first"), Decision(behaviour, "two", "second")
    assert combine([Decision(Behaviour.PASS, "", ""), first, second]) is first


def test_whoever_decided_is_named() -> None:
    for decisions in COMBINATIONS:
        decided = combine(decisions)
        assert decided in decisions or decided.source == "default"


def test_a_yes_said_beforehand_answers_a_question() -> None:
    yes = Decision(Behaviour.ALLOW, "", "rules", by_person=True)
    assert combine([Decision(Behaviour.ASK, "", "effect"), yes]) is yes


def test_a_yes_of_a_program_answers_none() -> None:
    question = Decision(Behaviour.ASK, "", "effect")
    assert combine([question, Decision(Behaviour.ALLOW, "", "reviewer")]) is question


def test_who_wants_to_be_asked_is_asked_whatever_they_said_about_the_rest() -> None:
    wish = Decision(Behaviour.ASK, "", "rules", by_person=True)
    yes = Decision(Behaviour.ALLOW, "", "session", by_person=True)
    assert combine([yes, Decision(Behaviour.ASK, "", "effect"), wish]) is wish
