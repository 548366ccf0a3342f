"""Anthropic Messages: what is sent, what is read. No SDK and no network here."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.anthropic_messages import ANTHROPIC, closing
from chapters.ch04.encoder import Encoder
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Cache, Provider, Strict, Target
from chapters.ch04.refusals import refusals
from chapters.ch04.tests.odd_json import odd_answers
from chapters.ch04.wire import to_body
from shared.errors import ConfigError
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
    Usage,
    UserMessage,
)

MARKED = KNOWN["anthropic"]
PLAIN = replace(MARKED, cache=Cache.NONE)
PNG = Image("image/png", "AAAA")
SHOWN = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
SHORT, LONG = {"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}
SCHEMA = {
    "type": "object",
    "description": "What to read",
    "properties": {"path": {"type": "string"}, "mode": {"$ref": "#/$defs/mode"}},
    "required": ["path"],
    "additionalProperties": False,
    "$defs": {"mode": {"enum": ["text", "bytes"]}},
}
READ = ToolSpec("read", "Read a file", SCHEMA)


def target_of(provider: Provider = PLAIN) -> Target:
    return Target(provider, "a-model")


def body_of(
    *messages: Message,
    provider: Provider = PLAIN,
    tools: tuple[ToolSpec, ...] = (),
    system: str = "",
) -> dict[str, Any]:
    """The body of a request, made in both ways that there are."""
    request = Request(messages or (UserMessage("q"),), tools, system)
    body = to_body(ANTHROPIC, request, target_of(provider))
    assert json.loads(Encoder(ANTHROPIC, target_of(provider)).body(request)) == body
    return body


def tools_of(*tools: ToolSpec, provider: Provider = PLAIN) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = body_of(provider=provider, tools=tools)["tools"]
    return found


def call(id: str = "c1", arguments: str = "{}") -> ToolCall:  # noqa: A002
    return ToolCall(id, "t", arguments)


def reply(*parts: Text | Thinking | ToolCall, origin: Origin | None = None) -> AssistantMessage:
    calls = any(isinstance(part, ToolCall) for part in parts)
    stop = StopReason.TOOL_USE if calls else StopReason.END_TURN
    return AssistantMessage(parts, stop, origin=origin or target_of().origin)


def use(id: str = "c1", input: Any = None) -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_use", "id": id, "name": "t", "input": input or {}}


def result(content: Any, error: bool = False, id: str = "c1") -> dict[str, Any]:  # noqa: A002
    return {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": error}


# Tools


def test_the_whole_schema_is_sent_and_not_only_three_keys_of_it() -> None:
    (tool,) = tools_of(READ)
    assert tool == {"name": "read", "description": "Read a file", "input_schema": SCHEMA}


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({}, {"type": "object", "properties": {}, "required": []}),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": []},
        ),
        ({**SCHEMA, "required": []}, {**SCHEMA, "required": []}),
    ],
    ids=["nothing is given", "nothing is required", "everything is given"],
)
def test_what_the_api_insists_on_is_added_to_a_schema(schema: Any, sent: Any) -> None:
    (tool,) = tools_of(ToolSpec("t", "d", schema))
    assert tool["input_schema"] == sent


@pytest.mark.parametrize("eager", [True, False])
def test_eager_input_is_asked_for_only_where_the_provider_has_it(eager: bool) -> None:
    (tool,) = tools_of(READ, provider=replace(PLAIN, eager_input=eager))
    assert tool.get("eager_input_streaming", False) is eager


@pytest.mark.parametrize(
    ("cache", "mark"), [(Cache.NONE, None), (Cache.SHORT, SHORT), (Cache.LONG, LONG)]
)
def test_the_last_tool_carries_the_cache_mark_and_no_other_does(cache: Cache, mark: Any) -> None:
    tools = tools_of(READ, replace(READ, name="b"), provider=replace(MARKED, cache=cache))
    assert [tool.get("cache_control") for tool in tools] == [None, mark]


def test_a_name_may_be_twice_as_long_as_elsewhere() -> None:
    long = "n" * 128
    names = [tool["name"] for tool in tools_of(replace(READ, name=long), replace(READ, name="a.b"))]
    assert names[0] == long
    assert names[1].startswith("a_b_")


def optional(number: int, name: str = "t") -> ToolSpec:
    """A tool with so many parameters that may be left out."""
    properties = {f"p{index}": {"type": "string"} for index in range(number)}
    return ToolSpec(name, "d", {"type": "object", "properties": properties})


def test_a_strict_tool_has_the_strict_schema() -> None:
    strict = replace(PLAIN, strict=Strict.ON)
    properties = {"a": {"type": "string"}, "b": {"type": "number"}}
    spec = ToolSpec("s", "d", {"type": "object", "properties": properties, "required": ["a"]})
    assert tools_of(spec, provider=strict) == [
        {
            "name": "s",
            "description": "d",
            "strict": True,
            "input_schema": {
                "type": "object",
                "properties": {
                    "a": {"type": "string"},
                    "b": {"anyOf": [{"type": "number"}, {"type": "null"}]},
                },
                "required": ["a", "b"],
                "additionalProperties": False,
            },
        }
    ]


@pytest.mark.parametrize(
    ("tools", "strict"),
    [
        ([optional(16)], [True]),
        ([optional(17)], [False]),
        ([optional(25)], [False]),
        ([optional(10), optional(7, "b"), optional(6, "c")], [True, False, True]),
        ([optional(0, f"t{index}") for index in range(21)], [True] * 20 + [False]),
        ([ToolSpec("m", "d", {"type": "object", "additionalProperties": True})], [False]),
    ],
    ids=[
        "as many unions as are taken",
        "one more",
        "more optional parameters than are taken",
        "counted over the whole request",
        "one strict tool too many",
        "a schema that cannot be strict",
    ],
)
def test_tools_beyond_the_limits_of_a_strict_request_are_sent_as_they_are(
    tools: list[ToolSpec], strict: list[bool]
) -> None:
    provider = replace(PLAIN, strict=Strict.ON)
    body = body_of(provider=provider, tools=tuple(tools))
    assert [tool.get("strict", False) for tool in body["tools"]] == strict
    for tool, spec, is_strict in zip(body["tools"], tools, strict, strict=True):
        if not is_strict:
            assert "strict" not in tool
            assert tool["input_schema"].items() >= dict(spec.parameters).items()
    assert refusals(Api.ANTHROPIC, body, provider) == []


@pytest.mark.parametrize("strict", [Strict.OFF, Strict.OMIT])
def test_a_tool_that_is_not_strict_does_not_speak_of_it(strict: Strict) -> None:
    (tool,) = tools_of(READ, provider=replace(PLAIN, strict=strict))
    assert "strict" not in tool


# The other fields


@pytest.mark.parametrize(
    ("system", "provider", "sent"),
    [
        ("", MARKED, None),
        (" \n", MARKED, None),
        ("S\ud83d", PLAIN, [{"type": "text", "text": "S\ufffd"}]),
        ("S", MARKED, [{"type": "text", "text": "S", "cache_control": SHORT}]),
    ],
    ids=[
        "none",
        "blank, which is refused",
        "plain, with half a surrogate pair",
        "with a cache mark",
    ],
)
def test_the_system_prompt_is_a_field_with_one_block(
    system: str, provider: Provider, sent: Any
) -> None:
    assert body_of(system=system, provider=provider).get("system") == sent


def test_a_request_says_how_long_a_reply_may_be_and_nothing_about_sampling() -> None:
    assert set(body_of()) == {"model", "max_tokens", "messages"}
    assert body_of(provider=replace(PLAIN, max_tokens=99))["max_tokens"] == 99
    own = replace(PLAIN, token_limit_key="max_output", max_tokens=5)
    assert body_of(provider=own)["max_output"] == 5


def test_a_provider_without_a_limit_for_replies_is_refused_with_advice() -> None:
    with pytest.raises(ConfigError, match="Give WORKBOOK_MAX_TOKENS a number"):
        body_of(provider=replace(PLAIN, max_tokens=None))


# Messages

QUESTION = {"role": "user", "content": "q"}


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (UserMessage("a 😀 b"), "a 😀 b"),
        (UserMessage((Text("look"), PNG)), [{"type": "text", "text": "look"}, SHOWN]),
        (UserMessage((PNG,)), [SHOWN]),
        (UserMessage((Text(" "), PNG)), [SHOWN]),
    ],
    ids=["text", "text and picture", "picture", "blank text, which is refused"],
)
def test_what_a_person_said(message: UserMessage, content: Any) -> None:
    assert body_of(message)["messages"] == [{"role": "user", "content": content}]


@pytest.mark.parametrize(
    ("parts", "blocks"),
    [
        (
            (Text("a"), Text("b")),
            [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        ),
        (
            (Thinking("hmm", "c2ln"), Text("a")),
            [
                {"type": "thinking", "thinking": "hmm", "signature": "c2ln"},
                {"type": "text", "text": "a"},
            ],
        ),
        (
            (Thinking("", "c2ln"), Text("a")),
            [
                {"type": "thinking", "thinking": "", "signature": "c2ln"},
                {"type": "text", "text": "a"},
            ],
        ),
        (
            (Thinking("", "ENC", redacted=True), Text("a")),
            [{"type": "redacted_thinking", "data": "ENC"}, {"type": "text", "text": "a"}],
        ),
        ((Thinking("hmm"), Text("a")), [{"type": "text", "text": "a"}]),
        ((Thinking("hmm", redacted=True), Text("a")), [{"type": "text", "text": "a"}]),
        (
            (Thinking("\ud83d", "c2ln"), Text("a")),
            [
                {"type": "thinking", "thinking": "\ufffd", "signature": "c2ln"},
                {"type": "text", "text": "a"},
            ],
        ),
    ],
    ids=[
        "one block for each text",
        "signed thinking",
        "signed thinking without text",
        "redacted thinking",
        "unsigned thinking, which is refused",
        "redacted thinking of which nothing is left",
        "thinking with half a surrogate pair, which cannot be sent",
    ],
)
def test_what_the_model_said(parts: Any, blocks: Any) -> None:
    assert body_of(UserMessage("q"), reply(*parts))["messages"] == [
        QUESTION,
        {"role": "assistant", "content": blocks},
    ]


def test_unsigned_thinking_goes_back_only_to_a_server_that_is_known_to_take_it() -> None:
    provider = replace(PLAIN, unsigned_thinking=True)
    messages = body_of(UserMessage("q"), reply(Thinking("hmm"), Text("a")), provider=provider)
    thought = {"type": "thinking", "thinking": "hmm", "signature": ""}
    assert messages["messages"][1]["content"] == [thought, {"type": "text", "text": "a"}]


def test_thinking_stays_here_where_the_provider_does_not_want_it_back() -> None:
    provider = replace(PLAIN, echo_reasoning=False)
    said = reply(Thinking("hmm", "c2ln"), Text("a"))
    messages = body_of(UserMessage("q"), said, provider=provider)["messages"]
    assert messages[1]["content"] == [{"type": "text", "text": "a"}]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"path": "ü", "n": [1, 2.5, null]}', {"path": "ü", "n": [1, 2.5, None]}),
        ("", {}),
        ('{"path": "a', {}),
        ("[1]", {}),
        ('{"n": NaN}', {}),
        ('{"n": 1e999}', {"n": "1e999"}),
    ],
    ids=["an object", "none", "cut off", "a list", "no JSON", "beyond every float"],
)
def test_arguments_go_back_as_an_object_that_can_be_sent(arguments: str, sent: Any) -> None:
    messages = body_of(UserMessage("q"), reply(call(arguments=arguments)))["messages"]
    assert messages[1]["content"] == [use(input=sent)]


@pytest.mark.parametrize(
    ("given", "block"),
    [
        (ToolResult("c1", "t", "r"), result("r")),
        (ToolResult("c1", "t", "Error [x]: no", "x"), result("Error [x]: no", True)),
        (ToolResult("c1", "t", ""), result("")),
        (ToolResult("c1", "t", " \n"), result("")),
        (
            ToolResult("c1", "t", "cap", images=(PNG,)),
            result([{"type": "text", "text": "cap"}, SHOWN]),
        ),
        (
            ToolResult("c1", "t", "", images=(PNG,)),
            result([{"type": "text", "text": "(see attached image)"}, SHOWN]),
        ),
    ],
    ids=["text", "failure", "empty", "blank", "text and picture", "picture"],
)
def test_a_result_is_a_block_that_says_whether_it_failed(given: ToolResult, block: Any) -> None:
    messages = body_of(UserMessage("q"), reply(call()), given)["messages"]
    assert messages[2] == {"role": "user", "content": [block]}


def test_all_results_of_a_reply_lead_one_message_and_what_was_said_follows() -> None:
    messages = body_of(
        UserMessage("q"),
        reply(call("c1"), call("c2")),
        ToolResult("c1", "t", "r1"),
        UserMessage("wait"),
        ToolResult("c2", "t", "r2", "failed"),
    )["messages"]
    assert messages == [
        QUESTION,
        {"role": "assistant", "content": [use("c1"), use("c2")]},
        {"role": "user", "content": [result("r1"), result("r2", True, "c2")]},
        {"role": "user", "content": "wait"},
    ]


def test_pictures_stand_behind_the_results_where_none_may_hold_them() -> None:
    provider = replace(PLAIN, result_images=False)
    results = ToolResult("c1", "t", "", images=(PNG,)), ToolResult("c2", "t", "r2")
    said = reply(call("c1"), call("c2"))
    messages = body_of(UserMessage("q"), said, *results, provider=provider)["messages"]
    shown = [result("(see attached image)"), result("r2", id="c2"), SHOWN]
    assert messages[2]["content"] == shown


# The cache mark at the end


@pytest.mark.parametrize(
    ("messages", "last"),
    [
        (
            [UserMessage("hi")],
            {"role": "user", "content": [{"type": "text", "text": "hi", "cache_control": SHORT}]},
        ),
        (
            [UserMessage((Text("look"), PNG))],
            {
                "role": "user",
                "content": [{"type": "text", "text": "look"}, SHOWN | {"cache_control": SHORT}],
            },
        ),
        (
            [UserMessage("q"), reply(call()), ToolResult("c1", "t", "r")],
            {"role": "user", "content": [result("r") | {"cache_control": SHORT}]},
        ),
        (
            [UserMessage("q"), reply(Text("a"))],
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        ),
    ],
    ids=["text", "blocks", "a result", "a reply: no mark"],
)
def test_the_end_of_the_conversation_is_marked(messages: list[Message], last: Any) -> None:
    assert body_of(*messages, provider=MARKED)["messages"][-1] == last


def test_marking_the_end_leaves_the_items_alone() -> None:
    items = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    before = json.dumps(items)
    assert json.dumps(closing(items, target_of(MARKED))) != before
    assert json.dumps(items) == before


def test_the_mark_moves_on_with_the_conversation_and_never_are_there_more_than_four() -> None:
    encoder = Encoder(ANTHROPIC, target_of(MARKED))
    history: list[Message] = []
    for number in range(3):
        call_id = f"c{number}"
        history += [UserMessage("q"), reply(call(call_id)), ToolResult(call_id, "t", "r")]
        sent = encoder.body(Request(tuple(history), (READ,), "S")).decode()
        assert sent.count("cache_control") == 3  # system, tools, end
        assert "cache_control" in json.dumps(json.loads(sent)["messages"][-1])


# Replies


def read(
    *content: Any, stop: Any = "end_turn", provider: Provider = PLAIN, **fields: Any
) -> AssistantMessage:
    body = {"type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}
    return ANTHROPIC.reply({**body, **fields}, target_of(provider))


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "text", "text": "a", "citations": None}, Text("a")),
        ({"type": "text", "text": ""}, None),
        ({"type": "text", "text": "\ud83d"}, Text("\ufffd")),
        ({"type": "thinking", "thinking": "h", "signature": "s"}, Thinking("h", "s")),
        ({"type": "thinking", "thinking": "", "signature": "s"}, Thinking("", "s")),
        ({"type": "thinking", "thinking": ""}, None),
        ({"type": "redacted_thinking", "data": "E"}, Thinking("", "E", redacted=True)),
        (use("c1", {"a": "ü"}), ToolCall("c1", "t", '{"a": "ü"}')),
        ({"type": "tool_use", "id": "c1", "name": "t"}, ToolCall("c1", "t", "")),
        ({"type": "tool_use", "id": "c1", "name": "t", "input": None}, ToolCall("c1", "t", "")),
        (use("c1", '{"a": 1'), ToolCall("c1", "t", '{"a": 1')),
        ({"type": "tool_use", "id": 7, "name": None, "input": {}}, ToolCall("", "", "{}")),
        ({"type": "server_tool_use", "id": "s1", "name": "search", "input": {}}, None),
        ({}, None),
    ],
    ids=str,
)
def test_a_block_becomes_a_part(block: Any, part: Any) -> None:
    assert read(block).content == (() if part is None else (part,))


@pytest.mark.parametrize(
    ("finish", "calls", "stop"),
    [
        ("end_turn", False, StopReason.END_TURN),
        ("end_turn", True, StopReason.TOOL_USE),
        ("stop_sequence", False, StopReason.END_TURN),
        ("tool_use", True, StopReason.TOOL_USE),
        ("tool_use", False, StopReason.END_TURN),
        ("max_tokens", True, StopReason.MAX_TOKENS),
        ("model_context_window_exceeded", False, StopReason.MAX_TOKENS),
        ("refusal", True, StopReason.REFUSAL),
        ("pause_turn", True, StopReason.UNKNOWN),
        ("a_new_one", True, StopReason.UNKNOWN),
        (None, True, StopReason.MISSING),
        (7, False, StopReason.MISSING),
    ],
)
def test_a_stop_reason_and_the_calls_say_how_it_ended(
    finish: Any, calls: bool, stop: StopReason
) -> None:
    found = read(*[use()] * calls, stop=finish)
    assert (found.stop, found.finish) == (stop, finish if isinstance(finish, str) else "")


def test_a_missing_stop_reason_is_accepted_only_where_the_provider_is_known_for_it() -> None:
    lenient = replace(PLAIN, finish_required=False)
    assert read(use(), stop=None, provider=lenient).stop is StopReason.TOOL_USE
    assert read(use(), stop=None).stop is StopReason.MISSING


@pytest.mark.parametrize(
    ("content", "details", "text"),
    [
        ([], {"category": "x", "explanation": "Not that."}, "Not that."),
        ([{"type": "text", "text": "I will not."}], {"explanation": "Not that."}, "I will not."),
        ([], {"explanation": None}, ""),
        ([], "Not that.", ""),
        ([], None, ""),
    ],
)
def test_a_refusal_says_why_if_nothing_else_was_said(
    content: list[Any], details: Any, text: str
) -> None:
    found = read(*content, stop="refusal", stop_details=details)
    assert (found.stop, found.text) == (StopReason.REFUSAL, text)


@pytest.mark.parametrize(
    ("usage", "found"),
    [
        (
            {
                "input_tokens": 10,
                "cache_creation_input_tokens": 200,
                "cache_read_input_tokens": 3000,
                "output_tokens": 40,
                "output_tokens_details": {"thinking_tokens": 15},
            },
            Usage(3210, 40, 3000, 200, 15),
        ),
        ({"input_tokens": 11, "output_tokens": 7}, Usage(11, 7)),
        ({"input_tokens": "11", "output_tokens": None}, Usage(0, 0)),
        (None, None),
        ([], None),
    ],
    ids=["cached", "plain", "no numbers", "null", "a list"],
)
def test_the_tokens_read_include_the_cached_ones_once(usage: Any, found: Any) -> None:
    assert read(usage=usage).usage == found


def test_content_that_is_null_is_an_empty_reply() -> None:
    body = {"type": "message", "content": None, "stop_reason": "end_turn", "usage": None}
    assert ANTHROPIC.reply(body, target_of()) == AssistantMessage((), finish="end_turn")


@pytest.mark.parametrize(
    "body",
    [
        None,
        "<html>",
        [],
        {},
        {"type": "message"},
        {"choices": []},
        {"content": "hi"},
        {"content": {}},
        {"content": ["hi"]},
        {"content": [None]},
    ],
    ids=str,
)
def test_what_is_no_message_is_unreadable_and_says_why(body: Any) -> None:
    with pytest.raises(UnreadableReply, match="content"):
        ANTHROPIC.reply(body, target_of())


WORDS = (
    "type content text thinking signature redacted_thinking data tool_use id name input message "
    "stop_reason refusal stop_details explanation usage input_tokens cache_read_input_tokens "
    "output_tokens output_tokens_details thinking_tokens end_turn max_tokens"
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(body=odd_answers("content", WORDS))
def test_no_answer_breaks_the_reader_and_what_was_read_can_be_sent_back(body: Any) -> None:
    with suppress(UnreadableReply):
        found = ANTHROPIC.reply(body, target_of())
        stopped = replace(found, stop=StopReason.MAX_TOKENS, origin=target_of().origin)
        assert body_of(UserMessage("q"), stopped)


# There and back


def test_a_reply_goes_back_block_by_block_as_it_came() -> None:
    came = [
        {"type": "thinking", "thinking": "First,", "signature": "c2lnMQ=="},
        {"type": "redacted_thinking", "data": "RU5D"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "toolu_1", "name": "t", "input": {"b": [1, {"ü": None}]}},
        {"type": "thinking", "thinking": "", "signature": "c2lnMg=="},
        {"type": "tool_use", "id": "toolu_2", "name": "t", "input": {}},
    ]
    found = replace(read(*came, stop="tool_use"), origin=target_of().origin)
    body = body_of(UserMessage("q"), found)
    assert body["messages"][1] == {"role": "assistant", "content": came}
    assert refusals(Api.ANTHROPIC, body, PLAIN) == []


def test_a_history_begun_elsewhere_becomes_one_that_is_taken() -> None:
    elsewhere = Origin("openai-responses", "openai", "another-model")
    said = reply(
        Thinking("secret thoughts", '{"type": "reasoning", "id": "rs_1"}'),
        Text("I read.", '{"id": "msg_1"}'),
        ToolCall("functions.read:0", "files.read", '{"path": "a"}', "fc_1"),
        ToolCall("call_1|fc_2", "files.read", '{"path": "b"', "fc_2"),
        origin=elsewhere,
    )
    body = body_of(
        UserMessage((Text("What is this?"), PNG)),
        said,
        ToolResult("functions.read:0", "files.read", "", images=(PNG,)),
        ToolResult("call_1|fc_2", "files.read", "Error [x]: no", "x"),
        UserMessage("go on"),
        provider=MARKED,
        tools=(ToolSpec("files.read", "Read", SCHEMA),),
        system="S",
    )
    assert refusals(Api.ANTHROPIC, body, MARKED) == []
    blocks, answers = body["messages"][1]["content"], body["messages"][2]["content"]
    assert [block["type"] for block in blocks] == ["text", "tool_use", "tool_use"]
    assert [block["id"] for block in blocks[1:]] == ["functions_read_0", "call_1_fc_2"]
    assert [each["tool_use_id"] for each in answers] == ["functions_read_0", "call_1_fc_2"]
    assert {block["name"] for block in blocks[1:]} == {body["tools"][0]["name"]}
    assert "secret" not in json.dumps(body)
