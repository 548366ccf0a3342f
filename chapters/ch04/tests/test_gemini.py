"""Gemini's wire, as pure functions: these tests need no package and no network."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chapters.ch01.chat_wire import UnreadableReply
from chapters.ch04.adapters import Access, open_model
from chapters.ch04.encoder import Encoder
from chapters.ch04.gemini import GEMINI
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import Api, Provider, Target
from chapters.ch04.wire import to_body
from shared.errors import ConfigError, ProviderError
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
from shared.provider_server import Answer, ProviderServer

PLAIN = Target(KNOWN["gemini-2"], "a-model")
THREE = Target(KNOWN["gemini"], "a-model")
PNG = Image("image/png", "AAAA")
JPEG = Image("image/jpeg", "BBBB")
INLINE_PNG = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
INLINE_JPEG = {"inlineData": {"mimeType": "image/jpeg", "data": "BBBB"}}
SPEC = ToolSpec(
    "list_files",
    "List files",
    {
        "type": "object",
        "properties": {"extension": {"type": ["string", "null"], "$ref": "#/$defs/x"}},
        "additionalProperties": False,
        "$defs": {"x": {"pattern": "a"}},
    },
)


def contents(*messages: Message, target: Target = PLAIN) -> Any:
    return to_body(GEMINI, Request(messages), target)["contents"]


def call(id: str = "c1", arguments: str = "{}", signature: str = "") -> ToolCall:  # noqa: A002
    return ToolCall(id, "t", arguments, signature)


def reply(*parts: Text | Thinking | ToolCall, by: Target | None = PLAIN) -> AssistantMessage:
    stop = StopReason.TOOL_USE if isinstance(parts[-1], ToolCall) else StopReason.END_TURN
    return AssistantMessage(parts, stop, origin=by.origin if by else None)


def read(*parts: Any, finish: str | None = "STOP", target: Target = PLAIN) -> AssistantMessage:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}}
    if finish is not None:
        candidate["finishReason"] = finish
    return GEMINI.reply({"candidates": [candidate]}, target)


# What is sent.


def test_tools_are_declared_in_one_entry_with_their_schemas_untouched() -> None:
    body = to_body(GEMINI, Request((UserMessage("hi"),), (SPEC, replace(SPEC, name="b"))), PLAIN)
    assert body["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": name,
                    "description": "List files",
                    "parametersJsonSchema": dict(SPEC.parameters),
                }
                for name in ("list_files", "b")
            ]
        }
    ]


def test_a_name_that_gemini_refuses_is_the_same_in_declaration_call_and_result() -> None:
    dotted = replace(SPEC, name="files.list")
    asked = AssistantMessage((ToolCall("c1", "files.list", "{}"),), StopReason.TOOL_USE)
    messages = (UserMessage("q"), asked, ToolResult("c1", "files.list", "r"))
    body = to_body(GEMINI, Request(messages, (dotted,)), PLAIN)
    name = body["tools"][0]["functionDeclarations"][0]["name"]
    assert "." not in name
    assert body["contents"][1]["parts"][0]["functionCall"]["name"] == name
    assert body["contents"][2]["parts"][0]["functionResponse"]["name"] == name


def test_a_request_without_tools_says_nothing_of_tools() -> None:
    assert to_body(GEMINI, Request((UserMessage("hi"),)), PLAIN) == {
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}]
    }


def test_the_system_prompt_and_the_limit_have_fields_of_their_own() -> None:
    limited = Target(replace(PLAIN.provider, max_tokens=99), "m")
    body = to_body(GEMINI, Request((UserMessage("hi"),), system="Be \ud800brief"), limited)
    assert body["systemInstruction"] == {"parts": [{"text": "Be \ufffdbrief"}]}
    assert body["generationConfig"] == {"maxOutputTokens": 99}
    assert [content["role"] for content in body["contents"]] == ["user"]


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("a-model", "/v1beta/models/a-model:generateContent"),
        ("models/a-model", "/v1beta/models/a-model:generateContent"),
        ("tunedModels/mine", "/v1beta/tunedModels/mine:generateContent"),
    ],
)
def test_the_model_is_part_of_the_address(model: str, path: str) -> None:
    assert GEMINI.path(Target(PLAIN.provider, model)) == path


def test_text_and_pictures_of_a_person_are_parts_in_order() -> None:
    said = UserMessage((Text("look"), PNG, Text("and"), JPEG))
    assert contents(said)[0]["parts"] == [
        {"text": "look"},
        INLINE_PNG,
        {"text": "and"},
        INLINE_JPEG,
    ]


def test_all_results_of_a_reply_are_one_content_in_the_order_of_the_calls() -> None:
    sent = contents(
        UserMessage("q"),
        reply(call("c1", '{"n": 1}'), call("c2")),
        ToolResult("c2", "t", "r2", "failed"),
        ToolResult("c1", "t", "r1"),
        UserMessage("next"),
    )
    assert sent[1] == {
        "role": "model",
        "parts": [
            {"functionCall": {"name": "t", "args": {"n": 1}}},
            {"functionCall": {"name": "t", "args": {}}},
        ],
    }
    assert sent[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "t", "response": {"output": "r1"}}},
            {"functionResponse": {"name": "t", "response": {"error": "r2"}}},
        ],
    }
    assert sent[3:] == [{"role": "user", "parts": [{"text": "next"}]}]


@pytest.mark.parametrize("target", [PLAIN, THREE], ids=["without", "with"])
def test_calls_and_results_carry_ids_only_where_the_provider_has_them(target: Target) -> None:
    sent = contents(
        UserMessage("q"), reply(call("x 1", "", "")), ToolResult("x 1", "t", ""), target=target
    )
    asked = sent[1]["parts"][0]["functionCall"]
    answered = sent[2]["parts"][0]["functionResponse"]
    expected = None if target is PLAIN else "x 1"
    assert (asked.get("id"), answered.get("id")) == (expected, expected)


@pytest.mark.parametrize(
    ("result", "target", "response", "after"),
    [
        (ToolResult("c1", "t", ""), PLAIN, {"output": ""}, None),
        (ToolResult("c1", "t", "a", images=(PNG,)), PLAIN, {"output": "a"}, [INLINE_PNG]),
        (
            ToolResult("c1", "t", "", images=(PNG, JPEG)),
            PLAIN,
            {"output": "(see attached image)"},
            [INLINE_PNG, INLINE_JPEG],
        ),
        (ToolResult("c1", "t", "no", "bad", (PNG,)), PLAIN, {"error": "no"}, [INLINE_PNG]),
        (
            ToolResult("c1", "t", "", images=(PNG,)),
            THREE,
            {"output": "(see attached image)"},
            None,
        ),
    ],
    ids=["empty", "text and picture", "pictures only", "failure", "pictures inside"],
)
def test_a_result_is_text_and_its_pictures_stand_where_the_provider_sees_them(
    result: ToolResult, target: Target, response: Any, after: Any
) -> None:
    sent = contents(UserMessage("q"), reply(call()), result, target=target)
    shown = sent[2]["parts"][0]["functionResponse"]
    assert shown["response"] == response
    inside = [INLINE_PNG] if target is THREE else None
    assert shown.get("parts") == inside
    following = [{"role": "user", "parts": [{"text": "Tool result image:"}, *(after or [])]}]
    assert sent[3:] == (following if after else [])


def test_pictures_of_one_result_do_not_part_it_from_the_others() -> None:
    sent = contents(
        UserMessage("q"),
        reply(call("c1"), call("c2")),
        ToolResult("c1", "t", "r1", images=(PNG,)),
        ToolResult("c2", "t", "r2"),
    )
    assert [len(content["parts"]) for content in sent] == [1, 2, 2, 2]


def test_a_signature_goes_back_on_the_part_that_it_came_with() -> None:
    parts = [
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "first"},
        {"text": "second", "thoughtSignature": "dHdv"},
        {"functionCall": {"name": "a", "args": {"b": [1, "é"]}}, "thoughtSignature": "ZnVu"},
        {"functionCall": {"name": "b", "args": {}}},
    ]
    said = replace(read(*parts), origin=PLAIN.origin)
    assert contents(UserMessage("q"), said)[1] == {"role": "model", "parts": parts}


def test_a_thought_without_words_goes_back_for_its_signature() -> None:
    parts = [{"text": "", "thought": True, "thoughtSignature": "c2ln"}, {"text": "t"}]
    said = replace(read(*parts), origin=PLAIN.origin)
    assert contents(UserMessage("q"), said)[1]["parts"] == parts


@pytest.mark.parametrize(
    "by",
    [Origin("gemini", "gemini", "another"), Origin("gemini", "a proxy", "a-model"), None],
    ids=["another model", "another provider", "nobody"],
)
def test_no_signature_and_no_thought_goes_to_anybody_else(by: Origin | None) -> None:
    said = AssistantMessage(
        (Thinking("hm", "c2ln"), Text("t", "c2ln"), call("c1", "{}", "c2ln")),
        StopReason.TOOL_USE,
        origin=by,
    )
    sent = json.dumps(contents(UserMessage("q"), said))
    assert "hm" not in sent
    assert "c2ln" not in sent


@pytest.mark.parametrize("row", ["gemini-2", "gemini"])
def test_the_first_call_of_another_model_says_that_nobody_here_signed_it(row: str) -> None:
    calls = (call("c1", "{}", "c2ln"), call("c2", "{}"))
    foreign = AssistantMessage(calls, StopReason.TOOL_USE, origin=Origin("openai-chat", "x", "y"))
    target = Target(KNOWN[row], "a-model")

    first, second = contents(UserMessage("q"), foreign, target=target)[1]["parts"]
    assert first["thoughtSignature"] == "skip_thought_signature_validator"
    assert "thoughtSignature" not in second

    own = replace(foreign, origin=target.origin)
    first, second = contents(UserMessage("q"), own, target=target)[1]["parts"]
    assert first["thoughtSignature"] == "c2ln"


def test_a_signature_that_is_no_base64_is_left_out() -> None:
    sent = contents(UserMessage("q"), reply(Thinking("hm", "{not base64}"), Text("t")))
    assert sent[1]["parts"] == [{"text": "hm", "thought": True}, {"text": "t"}]


def test_half_a_surrogate_pair_in_a_thought_can_be_sent() -> None:
    sent = contents(UserMessage("q"), reply(Thinking("h\ud800m"), Text("t")))
    assert sent[1]["parts"][0] == {"text": "h\ufffdm", "thought": True}


def test_thinking_stays_here_if_the_provider_does_not_want_it_back() -> None:
    shy = Target(replace(PLAIN.provider, echo_reasoning=False), "a-model")
    sent = contents(UserMessage("q"), reply(Thinking("hm"), Text("t"), by=shy), target=shy)
    assert sent[1]["parts"] == [{"text": "t"}]


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"a": 1, "b": [null, "x"]}', {"a": 1, "b": [None, "x"]}),
        ("", {}),
        ("null", {}),
        ('{"a": ', {}),
        ("[1]", {}),
        ('{"a": NaN}', {}),
        ('{"a": 1e999}', {"a": "1e999"}),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
    ],
)
def test_arguments_are_always_an_object_that_can_be_sent(arguments: str, sent: Any) -> None:
    request = Request((UserMessage("q"), reply(call("c1", arguments))))
    body = json.loads(Encoder(GEMINI, PLAIN).body(request))
    assert body["contents"][1]["parts"][0]["functionCall"]["args"] == sent


# What comes back.


def test_a_reply_keeps_the_order_of_its_parts() -> None:
    said = read(
        {"text": "hm", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "let me"},
        {
            "functionCall": {"name": "list", "args": {"ext": ".pdf"}, "id": "x1"},
            "thoughtSignature": "c2ln",
        },
        {"functionCall": {"name": "list"}},
        {"text": ""},
        {"executableCode": {"code": "1"}},
    )
    assert said.content == (
        Thinking("hm", "c2ln"),
        Text("let me"),
        ToolCall("x1", "list", '{"ext": ".pdf"}', "c2ln"),
        ToolCall("", "list", "{}"),
    )
    assert said.stop is StopReason.TOOL_USE


@pytest.mark.parametrize(
    ("finish", "stop", "with_call"),
    [
        ("STOP", StopReason.END_TURN, StopReason.TOOL_USE),
        ("MAX_TOKENS", StopReason.MAX_TOKENS, StopReason.MAX_TOKENS),
        ("SAFETY", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("RECITATION", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("BLOCKLIST", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("PROHIBITED_CONTENT", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("SPII", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("LANGUAGE", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("IMAGE_SAFETY", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("IMAGE_PROHIBITED_CONTENT", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("IMAGE_RECITATION", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("IMAGE_OTHER", StopReason.CONTENT_FILTER, StopReason.CONTENT_FILTER),
        ("MALFORMED_FUNCTION_CALL", StopReason.UNKNOWN, StopReason.UNKNOWN),
        ("CONTINUATION", StopReason.UNKNOWN, StopReason.UNKNOWN),
        ("A_NEW_ONE", StopReason.UNKNOWN, StopReason.UNKNOWN),
        ("", StopReason.MISSING, StopReason.MISSING),
        (None, StopReason.MISSING, StopReason.MISSING),
    ],
)
def test_only_a_reply_that_stopped_is_whole(
    finish: str | None, stop: StopReason, with_call: StopReason
) -> None:
    text, called = {"text": "x"}, {"functionCall": {"name": "t"}}
    assert read(text, finish=finish).stop is stop
    assert read(text, called, finish=finish).stop is with_call
    assert read(text, finish=finish).finish == (finish or "")


@pytest.mark.parametrize("content", [None, {}, {"role": "model"}, {"parts": None}])
def test_a_reply_that_was_stopped_at_once_has_no_parts(content: Any) -> None:
    body = {"candidates": [{"content": content, "finishReason": "SAFETY"}]}
    said = GEMINI.reply(body, PLAIN)
    assert (said.content, said.stop, said.finish) == ((), StopReason.CONTENT_FILTER, "SAFETY")


@pytest.mark.parametrize("candidates", [{}, {"candidates": []}, {"candidates": None}])
def test_a_prompt_that_was_blocked_is_a_reply_that_says_why(candidates: Any) -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}}
    said = GEMINI.reply({**body, **candidates}, PLAIN)
    assert said == AssistantMessage((), StopReason.CONTENT_FILTER, "SAFETY", Usage(3, 0))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"candidates": []},
        {"candidates": {}},
        {"candidates": ["x"]},
        {"promptFeedback": {}},
        {"promptFeedback": "SAFETY"},
        {"candidates": [{"content": "x"}]},
        {"candidates": [{"content": {"parts": "x"}}]},
        {"candidates": [{"content": {"parts": ["x"]}}]},
        {"candidates": [{"content": {"parts": [{"functionCall": "x"}]}}]},
        {"choices": [{"message": {"content": "hi"}}]},
    ],
    ids=repr,
)
def test_json_that_is_no_answer_is_told_from_an_empty_reply(body: Any) -> None:
    with pytest.raises(UnreadableReply):
        GEMINI.reply(body, PLAIN)


@pytest.mark.parametrize(
    ("said", "usage"),
    [
        (None, None),
        ("many", None),
        ({}, Usage(0, 0)),
        (
            {
                "promptTokenCount": 10,
                "toolUsePromptTokenCount": 3,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 2,
                "cachedContentTokenCount": 4,
                "totalTokenCount": 20,
            },
            Usage(13, 7, cached_tokens=4, reasoning_tokens=2),
        ),
        ({"promptTokenCount": True, "candidatesTokenCount": -1}, Usage(0, 0)),
    ],
    ids=["missing", "no object", "empty", "full", "nonsense"],
)
def test_thoughts_count_as_written_and_cached_tokens_are_not_added(
    said: Any, usage: Usage | None
) -> None:
    body = {"candidates": [{"finishReason": "STOP"}], "usageMetadata": said}
    assert GEMINI.reply(body, PLAIN).usage == usage


# Any answer, and the round trip of what it says.

WORDS = st.sampled_from(
    [
        "candidates content parts text thought thoughtSignature functionCall name args id",
        "finishReason usageMetadata promptTokenCount promptFeedback blockReason STOP SAFETY",
    ]
).flatmap(lambda line: st.sampled_from(line.split()))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "text": ANY_JSON,
        "thought": ANY_JSON,
        "thoughtSignature": ANY_JSON,
        "functionCall": st.fixed_dictionaries(
            {}, optional={"name": ANY_JSON, "args": ANY_JSON, "id": ANY_JSON}
        )
        | ANY_JSON,
    },
)
CANDIDATES = st.fixed_dictionaries(
    {},
    optional={
        "content": st.fixed_dictionaries({"parts": st.lists(PARTS, max_size=3) | ANY_JSON}),
        "finishReason": ANY_JSON,
    },
)
ANSWERS = ANY_JSON | st.fixed_dictionaries(
    {"candidates": st.lists(CANDIDATES, max_size=2) | ANY_JSON},
    optional={"usageMetadata": ANY_JSON, "promptFeedback": ANY_JSON},
)


@pytest.mark.parametrize("target", [PLAIN, THREE], ids=["without ids", "with ids"])
@given(body=ANSWERS)
def test_any_json_is_a_reply_that_can_be_sent_back_or_it_is_unreadable(
    target: Target, body: Any
) -> None:
    try:
        said = GEMINI.reply(body, target)
    except UnreadableReply:
        return
    said = replace(said, origin=target.origin)
    assert json.loads(Encoder(GEMINI, target).body(Request((UserMessage("q"), said))))


def test_both_rows_speak_to_the_same_place() -> None:
    rows = [KNOWN["gemini"], KNOWN["gemini-2"]]
    assert {(row.api, row.base_url) for row in rows} == {(Api.GEMINI, KNOWN["gemini"].base_url)}


def test_a_new_row_may_differ_in_every_field_without_new_code() -> None:
    row = Provider("a proxy", Api.GEMINI, "x", token_limit_key="cap", max_tokens=5, images=False)
    body = to_body(GEMINI, Request((UserMessage((Text("hi"), PNG)),)), Target(row, "m"))
    assert body["generationConfig"] == {"cap": 5}
    assert body["contents"][0]["parts"][1] == {
        "text": "(image omitted: model does not support images)"
    }


# Without the package.


@pytest.fixture(params=["google.genai", "google"])
def absent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """google-genai, or all that Google has ever published, is not installed."""
    for name in [name for name in sys.modules if name.split(".")[:2] == ["google", "genai"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, request.param, None)


@pytest.mark.usefixtures("absent")
def test_without_the_package_gemini_says_how_to_get_it_before_anything_is_asked() -> None:
    with pytest.raises(ConfigError) as caught:
        open_model(KNOWN["gemini"], Access("http://127.0.0.1:9", "a-key", "a-model"))
    assert "pip install -e '.[gemini]'" in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.usefixtures("absent")
@pytest.mark.anyio
@pytest.mark.parametrize("name", ["openai", "openai-responses", "anthropic"])
async def test_without_the_package_every_other_adapter_works(name: str) -> None:
    refusal = Answer({"error": {"message": "over", "type": "rate_limit"}}, status=429)
    with ProviderServer(refusal) as server:
        async with open_model(KNOWN[name], Access(server.base_url, "a-key", "m")) as model:
            with pytest.raises(ProviderError, match="Too many requests"):
                await model.reply(Request((UserMessage("hi"),)), lambda event: None)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("signature", "goes_back"),
    [
        ("c2lnbmVk+/==", True),
        ("c2lnbmVk-_==", True),
        ("c2lnbmVk+_==", False),
        ("c2lnbmV", False),
        ("====", False),
    ],
    ids=["standard", "for addresses", "of both alphabets", "too short", "nothing but the end"],
)
def test_a_signature_goes_back_if_it_is_base64(signature: str, goes_back: bool) -> None:
    sent = contents(UserMessage("q"), reply(Text("t", signature)))
    assert ("thoughtSignature" in sent[1]["parts"][0]) is goes_back


def test_why_a_prompt_was_blocked_is_short_and_can_be_printed() -> None:
    body = {"promptFeedback": {"blockReason": "\n" + "x" * 99}}
    assert GEMINI.reply(body, PLAIN).finish == "x" * 63
