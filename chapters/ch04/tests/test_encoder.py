"""The encoder: the same bytes as a body made anew, and each message is encoded once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch04 import encoder
from chapters.ch04.adapters import Access, open_model, wire_of
from chapters.ch04.chat import CHAT
from chapters.ch04.encoder import Encoder
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Cache, Provider, Target
from chapters.ch04.repair import Group
from chapters.ch04.tests.histories import histories
from chapters.ch04.wire import Wire, encode, to_body
from shared.errors import ConfigError, PairingError
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

TARGETS = [
    Target(KNOWN[name], "a-model") for name in ("openai", "openai-responses", "anthropic", "gemini")
]
BY_API = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.provider.name)
TOOLS = (ToolSpec("t", "d", {"type": "object", "properties": {}}),)
CHAT_TARGET = TARGETS[0]


def conversation(turns: int) -> list[Message]:
    said: list[Message] = []
    for turn in range(turns):
        call = ToolCall(f"c{turn}", "t", '{"turn": "ü"}')
        said.append(UserMessage(f"question {turn}"))
        said.append(AssistantMessage((Text("see"), call), StopReason.TOOL_USE))
        said.append(ToolResult(call.id, "t", f"result {turn}"))
        said.append(AssistantMessage((Text(f"answer {turn}"),)))
    return said


def anew(messages: Sequence[Message], target: Target, system: str = "") -> Any:
    return to_body(wire_of(target.provider.api), Request(messages, TOOLS, system), target)


@BY_API
def test_each_request_is_what_it_would_be_without_a_memory(target: Target) -> None:
    history, once = History(), Encoder(wire_of(target.provider.api), target)
    for message in [*conversation(3), UserMessage("and?")]:
        history.append(message)
        body = once.body(Request(history.view(), TOOLS, "SYS"))
        assert body == encode(json.loads(body))
        assert json.loads(body) == anew(history.view(), target, "SYS")


@BY_API
@settings(max_examples=50)
@given(data=st.data())
def test_also_for_histories_that_have_seen_the_worst(target: Target, data: st.DataObject) -> None:
    messages = data.draw(histories(target))
    once = Encoder(wire_of(target.provider.api), target)
    for length in range(len(messages) + 1):
        request = Request(messages[:length], TOOLS)
        assert json.loads(once.body(request)) == anew(messages[:length], target)


def counting(seen: Counter[str]) -> Wire:
    def items(group: Group, target: Target) -> list[Any]:
        seen.update([repr(message) for message in group.messages])
        return CHAT.items(group, target)

    return replace(CHAT, items=items)


def test_a_message_is_turned_into_items_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, encoded = Counter[str](), Counter[str]()

    def encode_and_count(value: Any) -> bytes:
        encoded.update([json.dumps(value)])
        return encode(value)

    monkeypatch.setattr(encoder, "encode", encode_and_count)
    history, once = History(), Encoder(counting(seen), CHAT_TARGET)
    for message in conversation(50):
        history.append(message)
        if not isinstance(message, AssistantMessage):
            once.body(Request(history.view()))
    assert max(seen.values()) == 1
    # The last group is encoded again while it is the last one: it may carry a mark.
    assert max(number for text, number in encoded.items() if "role" in text) <= 2


def test_the_mark_on_the_last_message_moves_on() -> None:
    target = Target(replace(KNOWN["anthropic"], cache=Cache.SHORT), "a-model")
    history, once = History(), Encoder(wire_of(Api.ANTHROPIC), target)
    for message in conversation(2):
        history.append(message)
        marks = once.body(Request(history.view())).count(b"cache_control")
        is_answer = isinstance(message, AssistantMessage) and not message.calls
        assert marks == (0 if is_answer else 1)


def view(*messages: Message) -> Sequence[Message]:
    return History(messages).view()


FIRST, SECOND = UserMessage("first"), UserMessage("second")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([FIRST, SECOND], [FIRST]),
        ([FIRST], [SECOND]),
        ([FIRST, SECOND], [SECOND, FIRST]),
        ([FIRST], []),
        ([FIRST], [UserMessage("first"), SECOND]),
    ],
    ids=["shorter", "another", "another order", "nothing", "equal but not the same"],
)
@pytest.mark.parametrize("kind", [list, lambda messages: view(*messages)], ids=["list", "view"])
def test_another_history_starts_over(before: Any, after: Any, kind: Any) -> None:
    once = Encoder(CHAT, CHAT_TARGET)
    once.body(Request(kind(before)))
    assert json.loads(once.body(Request(kind(after), TOOLS))) == anew(after, CHAT_TARGET)


def test_a_view_of_an_earlier_time_starts_over() -> None:
    history, once = History([FIRST]), Encoder(CHAT, CHAT_TARGET)
    early = history.view()
    history.append(SECOND)
    once.body(Request(history.view()))
    assert json.loads(once.body(Request(early, TOOLS))) == anew([FIRST], CHAT_TARGET)


@BY_API
def test_other_tools_and_another_system_prompt_are_noticed(target: Target) -> None:
    wire, messages = wire_of(target.provider.api), view(FIRST)
    once = Encoder(wire, target)
    for tools, system in ((TOOLS, ""), ((), ""), ((), "SYS"), (TOOLS, "SYS")):
        request = Request(messages, tools, system)
        assert json.loads(once.body(request)) == to_body(wire, request, target)


def test_it_knows_the_call_ids_of_the_history_and_forgets_those_of_another() -> None:
    once, messages = Encoder(CHAT, CHAT_TARGET), conversation(2)
    once.body(Request(messages))
    assert once.taken == {"c0", "c1"}
    once.body(Request([FIRST]))
    assert once.taken == set()


def test_a_request_that_cannot_be_sent_leaves_no_trace() -> None:
    once = Encoder(CHAT, Target(Provider("small", Api.CHAT, "", max_tools=1), "a-model"))
    with pytest.raises(ConfigError):
        once.body(Request([FIRST], TOOLS * 2))
    assert json.loads(once.body(Request([FIRST, SECOND])))["messages"] == [
        {"role": "user", "content": "first"},
        {"role": "user", "content": "second"},
    ]


def test_the_cost_of_a_turn_does_not_grow_with_the_conversation() -> None:
    seen = Counter[str]()
    history, once = History(conversation(200)), Encoder(counting(seen), CHAT_TARGET)
    once.body(Request(history.view()))
    before = seen.total()
    history.append(UserMessage("next"))
    once.body(Request(history.view()))
    assert seen.total() - before == 1


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("target", "history"),
    [
        (Target(KNOWN["openai"], "m"), [ToolResult("c1", "t", "ok")]),
        (Target(KNOWN["openai"], "m"), [AssistantMessage((Text("I w"),), StopReason.MISSING)]),
        (Target(KNOWN["anthropic"], "m"), [UserMessage(" ")]),
    ],
    ids=["a result without a call", "half a reply", "a blank message where none may be"],
)
async def test_a_history_of_which_nothing_is_left_is_not_sent(
    target: Target, history: list[Message]
) -> None:
    access = Access("http://127.0.0.1:9", "a-key", "m")  # where nobody answers
    async with open_model(target.provider, access) as model:
        with pytest.raises(PairingError, match="send a message first"):
            await model.reply(Request(history, system="Be brief."), print)


@BY_API
def test_a_list_that_grows_or_is_edited_in_place_is_sent_as_it_is_now(target: Target) -> None:
    said: list[Message] = [FIRST]
    once = Encoder(wire_of(target.provider.api), target)
    once.body(Request(said, TOOLS))
    said.append(SECOND)
    assert json.loads(once.body(Request(said, TOOLS))) == anew([FIRST, SECOND], target)
    said[0] = UserMessage("edited")
    body = once.body(Request(said, TOOLS))
    assert json.loads(body) == anew([UserMessage("edited"), SECOND], target)


def breaking_on(text: str, how: type[BaseException]) -> Wire:
    def items(group: Group, target: Target) -> list[Any]:
        if text in repr(group):
            raise how
        return CHAT.items(group, target)

    return replace(CHAT, items=items)


@pytest.mark.parametrize("how", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize(
    "history",
    [
        [UserMessage("secret"), UserMessage("bad"), FIRST],
        [AssistantMessage((ToolCall("secret", "t", "{}"),)), ToolResult("secret", "t", "bad")],
        [AssistantMessage((ToolCall("secret", "t", "{}"),)), UserMessage("bad")],
    ],
    ids=["in the middle", "in a result", "behind an open call"],
)
def test_a_conversation_that_breaks_off_leaves_nothing_for_the_next(
    history: list[Message], how: type[BaseException]
) -> None:
    once = Encoder(breaking_on("bad", how), CHAT_TARGET)
    with pytest.raises(how):
        once.body(Request(history))
    assert once.taken == set()
    assert json.loads(once.body(Request([SECOND], TOOLS))) == anew([SECOND], CHAT_TARGET)


@BY_API
def test_no_key_stands_twice_whatever_is_added_to_a_request(target: Target) -> None:
    wire = wire_of(target.provider.api)
    provider = replace(target.provider)
    object.__setattr__(provider, "extra_body", {wire.key: ["x"], "model": "another"})
    object.__setattr__(provider, "token_limit_key", wire.key)
    object.__setattr__(provider, "max_tokens", 99)
    odd = Target(provider, "a-model")
    keys: list[str] = []

    def read(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys[:] = [key for key, _ in pairs]  # the outermost object comes last
        return dict(pairs)

    body = json.loads(Encoder(wire, odd).body(Request([FIRST])), object_pairs_hook=read)
    assert len(keys) == len(set(keys))
    assert body == to_body(wire, Request([FIRST]), odd)
    assert "first" in str(body[wire.key])


def test_what_waits_for_an_open_call_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    encoded = Counter[str]()

    def encode_and_count(value: Any) -> bytes:
        encoded.update([json.dumps(value)])
        return encode(value)

    monkeypatch.setattr(encoder, "encode", encode_and_count)
    seen, call = Counter[str](), ToolCall("c1", "t", "{}")
    history: list[Message] = [FIRST, AssistantMessage((call,), StopReason.TOOL_USE)]
    once = Encoder(counting(seen), CHAT_TARGET)
    for number in range(50):
        history.append(UserMessage(f"waiting {number}"))
        once.body(Request(history))
    history.append(ToolResult("c1", "t", "ok"))
    assert json.loads(once.body(Request(history, TOOLS))) == anew(history, CHAT_TARGET)
    # The first one is made again when it stands behind other results than those it was sent with.
    assert max(number for text, number in seen.items() if "waiting" in text) <= 2
    assert max(number for text, number in encoded.items() if "waiting" in text) <= 2


def test_a_model_name_that_cannot_be_sent_is_a_mistake_that_is_named() -> None:
    for target in (
        Target(KNOWN["openai"], "\ud83d"),
        Target(replace(KNOWN["openai"], extra_body={"temperature": float("inf")}), "m"),
        Target(replace(KNOWN["openai"], extra_body={"x": {1, 2}}), "m"),
    ):
        with pytest.raises(ConfigError, match="WORKBOOK_EXTRA_BODY"):
            Encoder(CHAT, target).body(Request([FIRST]))


def test_what_waits_is_made_again_if_the_results_before_it_end_otherwise() -> None:
    """Pictures that follow a result are a user message: no reply is put before the next one."""
    target = Target(replace(KNOWN["openai"], reply_after_results=True), "a-model")
    asks = AssistantMessage((ToolCall("c1", "t", "{}"), ToolCall("c2", "t", "{}")))
    history: list[Message] = [FIRST, asks, SECOND]
    once = Encoder(CHAT, target)
    assert json.loads(once.body(Request(history, TOOLS))) == anew(history, target)
    for call_id in ("c1", "c2"):
        history.append(ToolResult(call_id, "t", "ok", images=(Image("image/png", "QUJD"),)))
        assert json.loads(once.body(Request(history, TOOLS))) == anew(history, target)
