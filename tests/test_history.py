"""The history: append-only, every call answered exactly once, a view that never changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import PairingError
from shared.history import History
from shared.messages import AssistantMessage, Message, Text, ToolCall, ToolResult, UserMessage


def asks(*ids: str) -> AssistantMessage:
    return AssistantMessage(tuple(ToolCall(each, "tool", "{}") for each in ids))


def result(call_id: str) -> ToolResult:
    return ToolResult(call_id, "tool", "ok")


HELLO = UserMessage("hello")
ANSWER = AssistantMessage((Text("hi"),))


@pytest.mark.parametrize(
    ("messages", "refused", "named"),
    [
        ([HELLO, asks("a")], HELLO, "'a' has no result"),
        ([HELLO, asks("a")], ANSWER, "'a' has no result"),
        ([HELLO, asks("a", "b"), result("a")], HELLO, "'b' has no result"),
        ([HELLO], result("a"), "'a', but no such call"),
        ([HELLO, asks("a")], result("z"), "'z', but no such call"),
        ([HELLO, asks("a", "b"), result("a")], result("a"), "'a' was answered twice"),
        ([HELLO, asks("a"), result("a"), ANSWER], result("a"), "'a', but no such call"),
        ([HELLO], asks("a", "a"), "share the id 'a'"),
        ([HELLO], asks(""), "has no id"),
    ],
)
def test_a_message_that_breaks_the_pairing_is_refused_and_not_added(
    messages: list[Message], refused: Message, named: str
) -> None:
    history = History(messages)
    with pytest.raises(PairingError, match=named):
        history.append(refused)
    assert list(history) == messages


def test_an_id_may_come_again_in_a_later_reply() -> None:
    history = History([HELLO, asks("a"), result("a"), asks("a"), result("a")])
    history.check_ready()


def test_results_may_come_in_any_order_but_all_must_come() -> None:
    history = History([HELLO, asks("a", "b"), result("b")])
    with pytest.raises(PairingError, match="'a'"):
        history.check_ready()
    history.append(result("a"))
    history.check_ready()


@pytest.mark.parametrize("messages", [[], [HELLO, ANSWER]])
def test_a_model_is_not_asked_without_something_to_reply_to(messages: list[Message]) -> None:
    with pytest.raises(PairingError, match="nothing for the model to reply to"):
        History(messages).check_ready()


def test_open_calls_can_be_answered_at_once() -> None:
    history = History([HELLO, asks("a", "b", "c"), result("b")])
    answered = history.answer_open_calls("interrupted", "Stopped.")
    assert [(each.call_id, each.code) for each in answered] == [
        ("a", "interrupted"),
        ("c", "interrupted"),
    ]
    history.check_ready()


def test_a_view_does_not_see_what_comes_later() -> None:
    history = History([HELLO])
    view = history.view()
    history.append(ANSWER)
    assert list(view) == [HELLO]
    assert len(view) == 1
    assert view[-1] is HELLO
    assert view[:] == [HELLO]
    with pytest.raises(IndexError):
        view[1]


@given(st.lists(st.integers(0, 3), max_size=12), st.data())
def test_a_view_behaves_like_the_list_it_stands_for(sizes: list[int], data: st.DataObject) -> None:
    history = History()
    for number, size in enumerate(sizes):
        ids = [f"{number}.{k}" for k in range(size)]
        history.append(asks(*ids))
        for each in ids:
            history.append(result(each))
    view, copy = history.view(), list(history)
    history.append(HELLO)
    assert list(view) == copy
    if copy:
        index = data.draw(st.integers(-len(copy), len(copy) - 1))
        assert view[index] == copy[index]
        assert view[index:] == copy[index:]
