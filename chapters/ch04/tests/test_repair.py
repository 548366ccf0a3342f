"""Repair: whatever a history has been through, a provider takes it, and nothing said is changed."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chapters.ch04.adapters import wire_of
from chapters.ch04.encoder import Encoder
from chapters.ch04.known_servers import KNOWN, PROVIDERS
from chapters.ch04.provider import Api, Provider, Strict, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.repair import Group, Repair, groups, repair
from chapters.ch04.tests.histories import histories
from chapters.ch04.wire import encode, to_body
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    Request,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)

PICKY = replace(
    KNOWN["openai"],
    name="picky",
    empty_content=None,
    blank_text=False,
    images=False,
    result_name=True,
    reply_after_results=True,
    strict=Strict.ON,
)
SHOWS_PICTURES = replace(KNOWN["openai"], name="shows pictures", result_images=True)
RECORDS = [*PROVIDERS, PICKY, SHOWS_PICTURES]
ONE_OF_EACH = [KNOWN["openai"], *(each for each in RECORDS if each.api is not Api.CHAT), PICKY]
TOOLS = (
    ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {}}),
    ToolSpec("read.file", "Another one.", {"type": "object", "properties": {}}),
)
UNSIGNED = "is missing its thoughtSignature"
"""Refused of Gemini's own calls only if they had a signature; the calls made up here have none."""

each_record = pytest.mark.parametrize("provider", RECORDS, ids=lambda record: record.name)
one_of_each = pytest.mark.parametrize("provider", ONE_OF_EACH, ids=lambda record: record.name)
bounded = settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None
)


def target_of(provider: Provider) -> Target:
    return Target(provider, "a-model")


def refused(history: list[Message], target: Target) -> list[str]:
    """What is refused of a request with this history; who speaks next is nobody's business here."""
    request = Request(history, TOOLS, "Be brief.")
    body = json.loads(encode(to_body(wire_of(target.provider.api), request, target)))
    found = refusals(target.provider.api, body, target.provider)
    return [each for each in found if UNSIGNED not in each]


@each_record
@bounded
@given(data=st.data())
def test_every_provider_takes_every_repaired_history(
    provider: Provider, data: st.DataObject
) -> None:
    target = target_of(provider)
    history = data.draw(histories(target))
    if repair(history, target):
        assert refused(history, target) == []


@one_of_each
@bounded
@given(data=st.data())
def test_repairing_twice_changes_nothing_and_the_history_stays(
    provider: Provider, data: st.DataObject
) -> None:
    target = target_of(provider)
    history = data.draw(histories(target))
    before = deepcopy(history)
    once = repair(history, target)
    assert repair(once, target) == once
    assert history == before


@one_of_each
@bounded
@given(data=st.data())
def test_a_history_that_grows_is_repaired_as_if_it_came_at_once(
    provider: Provider, data: st.DataObject
) -> None:
    """And what was settled stays as it was sent: the encoder keeps its bytes."""
    target, wire = target_of(provider), wire_of(provider.api)
    history = data.draw(histories(target))
    under_way, encoder = Repair(target), Encoder(wire, target)
    settled: list[Group] = []
    for length, message in enumerate(history, 1):
        settled += under_way.feed(message)
        so_far = history[:length]
        assert [*settled, *under_way.rest()] == list(groups(so_far, target))
        request = Request(so_far, TOOLS, "Be brief.")
        sent = json.loads(encoder.body(request))
        assert sent == json.loads(encode(to_body(wire, request, target)))
    assert settled == list(groups(history, target))[: len(settled)]


CHAT, ANTHROPIC = target_of(KNOWN["openai"]), target_of(KNOWN["anthropic"])
RESPONSES = target_of(KNOWN["openai-responses"])
GO, WAIT = UserMessage("go"), UserMessage("wait")
MISSING = UserMessage("(The beginning of this conversation is missing.)")


def call(call_id: str = "call_1", name: str = "read_file", arguments: str = "{}") -> ToolCall:
    return ToolCall(call_id, name, arguments)


def asks(*parts: Text | Thinking | ToolCall, origin: Origin | None = None) -> AssistantMessage:
    return AssistantMessage(parts, StopReason.TOOL_USE, origin=origin)


def says(text: str, stop: StopReason = StopReason.END_TURN) -> AssistantMessage:
    return AssistantMessage((Text(text),), stop)


def ok(call_id: str = "call_1", name: str = "read_file", text: str = "ok") -> ToolResult:
    return ToolResult(call_id, name, text)


def interrupted(call_id: str = "call_1") -> ToolResult:
    return ToolResult.failure(
        call(call_id),
        "interrupted",
        "There is no result: the run was stopped before this call ended.",
    )


THOUGHT = Thinking("hm", "c2ln")
ONE_FAULT: list[tuple[str, Target, list[Message], list[Message]]] = [
    ("nothing is wrong", CHAT, [GO, asks(call()), ok()], [GO, asks(call()), ok()]),
    (
        "an interrupted call gets a result that says so, before anybody speaks",
        CHAT,
        [GO, asks(call("a"), call("b")), ok("a"), WAIT],
        [GO, asks(call("a"), call("b")), ok("a"), interrupted("b"), WAIT],
    ),
    (
        "an interrupted call at the end gets one, too",
        CHAT,
        [GO, asks(call())],
        [GO, asks(call()), interrupted()],
    ),
    (
        "a result that comes after the next reply is too late",
        CHAT,
        [GO, asks(call()), says("Never mind."), ok()],
        [GO, asks(call()), interrupted(), says("Never mind.")],
    ),
    (
        "of two results the first counts",
        CHAT,
        [GO, asks(call()), ok(), ok(text="again")],
        [GO, asks(call()), ok()],
    ),
    ("a result that nobody asked for goes", CHAT, [GO, ok()], [GO]),
    (
        "what was said between call and result comes after it",
        CHAT,
        [GO, asks(call()), WAIT, ok()],
        [GO, asks(call()), ok(), WAIT],
    ),
    (
        "results stand in the order of their calls, whichever came first",
        ANTHROPIC,
        [GO, asks(call("a"), call("b")), ok("b"), WAIT, ok("a")],
        [GO, asks(call("a"), call("b")), ok("a"), ok("b"), WAIT],
    ),
    (
        "half a reply goes, and its calls and results with it",
        CHAT,
        [GO, AssistantMessage((Text("I w"), call()), StopReason.MISSING), ok(), WAIT],
        [GO, WAIT],
    ),
    ("a refusal is no reply to build on", CHAT, [GO, says("No.", StopReason.REFUSAL)], [GO]),
    (
        "a reply cut by its limit stays: its calls were answered",
        CHAT,
        [GO, says("The first", StopReason.MAX_TOKENS)],
        [GO, says("The first", StopReason.MAX_TOKENS)],
    ),
    ("an empty reply goes", CHAT, [GO, AssistantMessage(()), WAIT], [GO, WAIT]),
    (
        "a blank text beside a call goes",
        ANTHROPIC,
        [GO, asks(Text(" \n"), call()), ok()],
        [GO, asks(call()), ok()],
    ),
    (
        "a blank text among others goes where it may not be",
        ANTHROPIC,
        [UserMessage((Text("go"), Text(" \n")))],
        [UserMessage((Text("go"),))],
    ),
    ("a blank message goes where it may not be", ANTHROPIC, [GO, UserMessage(" ")], [GO]),
    ("a blank message stays where it may be", CHAT, [UserMessage(" ")], [UserMessage(" ")]),
    (
        "ids are mapped for call and result alike",
        ANTHROPIC,
        [GO, asks(call("functions.read:0"), call("a|b")), ok("functions.read:0"), ok("a|b")],
        [GO, asks(call("functions_read_0"), call("a_b")), ok("functions_read_0"), ok("a_b")],
    ),
    (
        "a name that is not legal is mapped for call and result alike",
        CHAT,
        [GO, asks(call(name="read.file")), ok(name="read.file")],
        [GO, asks(call(name="read_file_dd32cdf5")), ok(name="read_file_dd32cdf5")],
    ),
    (
        "arguments that are no JSON object become an empty one",
        CHAT,
        [GO, asks(call(arguments='{"path": "a')), ok()],
        [GO, asks(call(arguments="{}")), ok()],
    ),
    (
        "a lone surrogate becomes a sign that can be sent",
        CHAT,
        [UserMessage("\ud83d"), asks(call("\ud83d")), ok("\ud83d", text="\ud83d")],
        [UserMessage("\ufffd"), asks(call("\ufffd")), ok("\ufffd", text="\ufffd")],
    ),
    (
        "a conversation without its beginning begins with a message that says so",
        ANTHROPIC,
        [ok(), says("Done."), WAIT],
        [MISSING, says("Done."), WAIT],
    ),
    (
        "thinking goes back to its own model as it was",
        ANTHROPIC,
        [GO, asks(THOUGHT, call(), origin=ANTHROPIC.origin), ok()],
        [GO, asks(THOUGHT, call(), origin=ANTHROPIC.origin), ok()],
    ),
    (
        "thinking and signatures are for nobody else",
        CHAT,
        [GO, asks(THOUGHT, replace(call(), signature="s"), origin=ANTHROPIC.origin), ok()],
        [GO, asks(call(), origin=ANTHROPIC.origin), ok()],
    ),
    (
        "a reply of thinking alone goes",
        ANTHROPIC,
        [GO, asks(THOUGHT, origin=ANTHROPIC.origin), WAIT],
        [GO, WAIT],
    ),
    (
        "a picture is a sentence for a model that sees none",
        target_of(KNOWN["deepseek"]),
        [UserMessage((Image("image/png", "QQ=="), Image("image/png", "QQ==")))],
        [UserMessage((Text("(image omitted: model does not support images)"),))],
    ),
]


@pytest.mark.parametrize(
    ("target", "history", "repaired"),
    [row[1:] for row in ONE_FAULT],
    ids=[row[0] for row in ONE_FAULT],
)
def test_one_fault(target: Target, history: list[Message], repaired: list[Message]) -> None:
    assert repair(history, target) == repaired


@pytest.mark.parametrize(
    ("target", "ids"),
    [
        pytest.param(CHAT, ("call_0", "call_0"), id="one id in two rounds"),
        pytest.param(ANTHROPIC, ("a.b", "a:b"), id="two ids that become the same"),
        pytest.param(ANTHROPIC, ("a:b", "a_b"), id="an id that becomes one that comes later"),
        pytest.param(CHAT, ("", ""), id="no ids at all"),
        pytest.param(RESPONSES, ("x" * 70, "x" * 69 + "y"), id="ids that are alike until the cut"),
    ],
)
def test_calls_of_one_history_have_ids_of_their_own(target: Target, ids: tuple[str, str]) -> None:
    history: list[Message] = [GO]
    for call_id in ids:
        history += [asks(call(call_id)), ok(call_id)]
    repaired = repair(history, target)
    called = [
        call.id for each in repaired if isinstance(each, AssistantMessage) for call in each.calls
    ]
    assert len(set(called)) == 2
    assert [each.call_id for each in repaired if isinstance(each, ToolResult)] == called
    assert refused(history, target) == []


def test_two_calls_of_one_reply_with_one_id_are_answered_in_order() -> None:
    history: list[Message] = [GO, asks(call(), call()), ok(text="first"), ok(text="second")]
    reply, *results = repair(history, CHAT)[1:]
    assert isinstance(reply, AssistantMessage)
    answered = [(each.call_id, each.text) for each in results if isinstance(each, ToolResult)]
    assert answered == list(
        zip([call.id for call in reply.calls], ["first", "second"], strict=True)
    )


def test_a_reply_that_is_in_the_history_twice_is_signed_once() -> None:
    """Its items have ids, and a request with two items of one id is refused."""
    thought = Thinking("hm", '{"type": "reasoning", "id": "rs_1", "summary": []}')
    reply = asks(thought, replace(call(), signature="fc_1"), origin=RESPONSES.origin)
    history: list[Message] = [GO, reply, ok(), reply, ok()]
    assert refused(history, RESPONSES) == []
    assert repair(history, RESPONSES)[1] == reply


@pytest.mark.parametrize(
    ("history", "marked"),
    [
        pytest.param(
            [GO, asks(call()), ok(), WAIT, GO, says("Hi."), GO],
            [False, False, False, True, False, False, False],
            id="words behind results",
        ),
        pytest.param(
            [GO, asks(call()), WAIT, GO, ok()],
            [False, False, False, True, False],
            id="words that waited for them",
        ),
        pytest.param(
            [GO, asks(call()), WAIT, GO],
            [False, False, False, True, False],
            id="words that still wait at the end",
        ),
        pytest.param(
            [GO, asks(call()), ok(), says("Hi."), GO],
            [False, False, False, True, False],
            id="a reply behind results, and words behind the reply",
        ),
    ],
)
def test_only_what_stands_right_behind_results_is_marked(
    history: list[Message], marked: list[bool]
) -> None:
    """Some servers want a reply there, and nobody wants one anywhere else."""
    assert [group.after_results for group in groups(history, CHAT)] == marked


@one_of_each
def test_the_encoder_starts_over_for_a_history_that_does_not_go_on(provider: Provider) -> None:
    target, wire = target_of(provider), wire_of(provider.api)
    encoder = Encoder(wire, target)
    long: list[Message] = [GO, says("Hi."), WAIT, asks(call()), ok()]
    other: list[Message] = [WAIT, says("Hi."), GO]
    for history in (long, long[2:], other, long):
        request = Request(history)
        sent = json.loads(encoder.body(request))
        assert sent == json.loads(encode(to_body(wire, request, target)))


class Compared(str):
    """An id that counts how often it is compared with another."""

    __slots__ = ()
    times = 0

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("alike", [False, True], ids=["ids that differ", "one id for all"])
def test_results_find_their_calls_without_a_search(alike: bool) -> None:
    number = 1_000
    ids = [Compared("c" if alike else f"c{each}") for each in range(number)]
    history: list[Message] = [GO, asks(*[call(each) for each in ids])]
    history += [ok(Compared(each), text=f"{place}") for place, each in enumerate(ids)]
    Compared.times = 0
    results = repair(history, CHAT)[2:]
    assert Compared.times < 30 * number
    assert [each.text for each in results if isinstance(each, ToolResult)] == [
        str(place) for place in range(number)
    ]


def test_of_calls_with_one_id_each_gets_the_next_result() -> None:
    history: list[Message] = [
        GO,
        asks(call("a"), call("a")),
        ok("a", text="1"),
        ok("a", text="2"),
        ok("a"),
    ]
    results = repair(history, CHAT)[2:]
    assert [each.text for each in results if isinstance(each, ToolResult)] == ["1", "2"]


HALF_PICTURE = Image("image/png\ud83d", "AAA\ud83d")
UNSENDABLE: list[list[Message]] = [
    [UserMessage((Text("look"), HALF_PICTURE))],
    [GO, asks(call()), ToolResult("call_1", "read_file", "", images=(HALF_PICTURE,))],
    [GO, asks(call(arguments='{"a": ' + "[" * 500 + "]" * 500 + "}")), ok()],
]


@each_record
@pytest.mark.parametrize("history", UNSENDABLE, ids=["a picture", "in a result", "deep arguments"])
def test_what_cannot_be_encoded_is_cleaned(provider: Provider, history: list[Message]) -> None:
    target = target_of(provider)
    assert refused(history, target) == []


@each_record
@pytest.mark.parametrize(
    "signature",
    ["\ud83d", '{"type": "reasoning", "id": "rs_1", "n": 1e999}', '{"n": ' + "[" * 999 + "]" * 999],
    ids=["half a surrogate pair", "infinity", "deep"],
)
def test_a_signature_that_cannot_be_encoded_stays_here(provider: Provider, signature: str) -> None:
    target = target_of(provider)
    parts = Thinking("hm", signature), Text("a", signature), call()
    history: list[Message] = [GO, asks(*parts, origin=target.origin), ok()]
    history += [asks(replace(call("c2"), signature=signature), origin=target.origin), ok("c2")]
    assert refused(history, target) == []


def test_a_result_is_for_the_call_of_its_own_round() -> None:
    """Not for one before that has the same id and was interrupted."""
    history: list[Message] = [
        GO,
        asks(call("a")),
        says("Never mind."),
        asks(call("a")),
        ok("a"),
        WAIT,
    ]
    repaired = repair(history, CHAT)
    assert [each.text for each in repaired if isinstance(each, ToolResult)] == [
        interrupted("a").text,
        "ok",
    ]
    under_way = Repair(CHAT)
    assert [len(under_way.feed(message)) for message in history] == [1, 1, 2, 1, 1, 1]
