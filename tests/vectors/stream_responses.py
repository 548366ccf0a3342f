"""Answers of Responses in events: what servers send, or could."""

from __future__ import annotations

from typing import Any

from tests.vectors.stream_bodies import Json, added, done, function, more, responses
from tests.vectors.stream_words import CET, RESPONSES_USAGE, TOKENS, TZ, call, failed, half, whole

MESSAGE = {"type": "message", "id": "m1", "role": "assistant"}


def output(text: str, **fields: Any) -> Json:
    """A message as an item."""
    return {**MESSAGE, "content": [{"type": "output_text", "text": text}], **fields}


HELLO = [
    added(0, **MESSAGE, content=[]),
    more("output_text", 0, "Hel", item_id="m1"),
    more("output_text", 0, "lo", item_id="m1"),
]
PENDING = [added(0, **function(0, "")), more("function_call_arguments", 0, '{"tz":')]
REASONING = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}
SUMMARY = [{"type": "summary_text", "text": "Hm"}]

RESPONSES: list[tuple[str, bytes, Json]] = [
    (
        "a call that only its pieces tell",
        responses(
            *PENDING,
            more("function_call_arguments", 0, '"CET"}'),
            response={"output": [], **RESPONSES_USAGE},
        ),
        whole(call(arguments=CET), usage=TOKENS),
    ),
    (
        "a call that only the last event holds",
        responses(response={"output": [function(0, TZ)], **RESPONSES_USAGE}),
        whole(call(arguments=CET), usage=TOKENS),
    ),
    (
        "arguments end with more than their pieces",
        responses(
            *PENDING,
            {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": TZ},
            done(0, **function(0, TZ)),
            response={"output": [function(0, TZ)]},
        ),
        whole(call(arguments=CET)),
    ),
    (
        "the id of an item changes",
        responses(
            *PENDING,
            more("function_call_arguments", 0, '"CET"}', item_id="fc_other"),
            done(0, **{**function(0, TZ), "id": "fc_third"}),
            response={"output": [{**function(0, TZ), "id": "fc_third"}]},
        ),
        whole(call(arguments=CET)),
    ),
    (
        "two calls begin before either has pieces",
        responses(
            added(0, **function(0, "")),
            added(1, **function(1, "", "list_dir", "call_2")),
            more("function_call_arguments", 1, '{"path":"a"}'),
            more("function_call_arguments", 0, TZ),
            done(1, **function(1, '{"path":"a"}', "list_dir", "call_2")),
            done(0, **function(0, TZ)),
        ),
        whole(call(arguments=CET), call("list_dir", {"path": "a"}, id="call_2")),
    ),
    (
        "text after a call",
        responses(
            added(0, **function(0, "")),
            done(0, **function(0, TZ)),
            added(1, **MESSAGE, content=[]),
            more("output_text", 1, "Hello"),
            done(1, **output("Hello")),
            response={"output": [function(0, TZ), output("Hello")]},
        ),
        whole(call(arguments=CET), text="Hello"),
    ),
    (
        "thinking before a call",
        responses(
            added(0, **REASONING, summary=[]),
            more("reasoning_summary_text", 0, "Hm", summary_index=0),
            done(0, **REASONING, summary=SUMMARY),
            added(1, **function(1, "")),
            done(1, **function(1, TZ)),
            response={"output": [{**REASONING, "summary": SUMMARY}, function(1, TZ)]},
        ),
        {
            **whole(call(arguments=CET), reasoning="Hm"),
            "echo": [{**REASONING, "summary": SUMMARY}],
        },
    ),
    (
        "thinking goes back as it was when it was whole",
        responses(
            added(0, **{**REASONING, "encrypted_content": "first"}, summary=[]),
            done(0, **REASONING, summary=[]),
            added(1, **function(1, "")),
            done(1, **function(1, TZ)),
        ),
        {
            **whole(call(arguments=CET), reasoning=""),
            "echo": [{**REASONING, "summary": []}],
        },
    ),
    (
        "cut by the limit in arguments",
        responses(
            *PENDING,
            end="incomplete",
            response={
                "incomplete_details": {"reason": "max_output_tokens"},
                "output": [{**function(0, '{"tz":'), "status": "incomplete"}],
            },
        ),
        whole(half('{"tz":', "get_time"), stop="max_tokens"),
    ),
    (
        "cut by the limit in text, and the last event has no items",
        responses(
            *HELLO,
            end="incomplete",
            response={"incomplete_details": {"reason": "max_output_tokens"}, **RESPONSES_USAGE},
        ),
        whole(text="Hello", stop="max_tokens", usage=TOKENS),
    ),
    (
        "stopped by the filter",
        responses(
            *HELLO,
            end="incomplete",
            response={"incomplete_details": {"reason": "content_filter"}},
        ),
        whole(text="Hello", stop="content_filter"),
    ),
    (
        "it failed, and says why",
        responses(
            *HELLO, end="failed", response={"error": {"code": "server_error", "message": "boom"}}
        ),
        failed("provider", text="Hello", code="server_error"),
    ),
    (
        "it failed, and a second time would",
        responses(end="failed", response={"error": {"code": "invalid_prompt", "message": "no"}}),
        failed("provider", retryable=False, code="invalid_prompt"),
    ),
    (
        "it failed, and does not say why",
        responses(end="failed", response={"error": None}),
        {**failed("provider"), "alt_error": {"kind": "bad_response", "retryable": True}},
    ),
    (
        "an error in an error",
        responses(
            {"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow"}}, end=""
        ),
        failed("provider", code="rate_limit_exceeded"),
    ),
    (
        "an error after a whole call",
        responses(
            added(0, **function(0, "")),
            done(0, **function(0, TZ)),
            {"type": "error", "code": "server_error", "message": "boom", "param": None},
            end="",
        ),
        failed("provider", call(arguments=CET), code="server_error"),
    ),
    (
        "a clean end after a whole call",
        responses(added(0, **function(0, "")), done(0, **function(0, TZ)), end=""),
        failed("incomplete_stream", call(arguments=CET)),
    ),
    (
        "a refusal in pieces",
        responses(
            added(0, **MESSAGE, content=[]),
            more("refusal", 0, "I "),
            more("refusal", 0, "can't."),
            done(0, **MESSAGE, content=[{"type": "refusal", "refusal": "I can't."}]),
        ),
        whole(text="I can't.", stop="refusal"),
    ),
    (
        "an event and an item that nobody knows",
        responses(
            {"type": "response.new.kind", "output_index": 0},
            added(0, type="new_item", id="n"),
            done(0, type="new_item", id="n"),
            added(1, **MESSAGE, content=[]),
            more("output_text", 1, "Hello"),
            done(1, **output("Hello")),
        ),
        whole(text="Hello"),
    ),
    (
        "text of two messages",
        responses(
            *HELLO,
            done(0, **output("Hello", phase="commentary")),
            added(1, **{**MESSAGE, "id": "m2"}, content=[]),
            more("output_text", 1, "!"),
            done(1, **output("!", id="m2", phase="final_answer")),
        ),
        whole(text="Hello!"),
    ),
]
