"""Answers of Anthropic Messages in events: what servers send, or could."""

from __future__ import annotations

from tests.vectors.stream_bodies import Json, anthropic, block, said, sse, used
from tests.vectors.stream_words import CET, TOKENS, TZ, call, failed, half, whole

WEATHER_USED = used(0, '{"city":', '"Oslo"}', name="get_weather")
ANTH = call("get_weather", {"city": "Oslo"}, id="toolu_1")
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
THINKING = block(
    0,
    {"type": "thinking_delta", "thinking": "Hm"},
    {"type": "thinking_delta", "thinking": "."},
    {"type": "signature_delta", "signature": "c2ln"},
    type="thinking",
    thinking="",
    signature="",
)
REDACTED = {"type": "redacted_thinking", "data": "c2VjcmV0"}

ANTHROPIC: list[tuple[str, bytes, Json]] = [
    (
        "thinking with its signature",
        anthropic(*THINKING, *used(1, TZ), stop="tool_use"),
        {
            **whole(call(arguments=CET, id="toolu_1"), reasoning="Hm.", usage=TOKENS),
            "echo": [THOUGHT],
        },
    ),
    (
        "thinking that cannot be read",
        anthropic(*block(0, **REDACTED), *used(1, TZ), stop="tool_use"),
        {
            **whole(call(arguments=CET, id="toolu_1"), reasoning="", usage=TOKENS),
            "echo": [REDACTED],
        },
    ),
    (
        "no piece of an input",
        anthropic(*used(0), stop="tool_use"),
        whole(call(id="toolu_1"), usage=TOKENS),
    ),
    (
        "the input comes with the start",
        anthropic(
            *block(0, type="tool_use", id="toolu_1", name="get_weather", input={"city": "Oslo"}),
            stop="tool_use",
        ),
        whole(ANTH, usage=TOKENS),
    ),
    (
        "an input that is no JSON",
        anthropic(*used(0, '{"tz": CET}'), stop="tool_use"),
        whole(half('{"tz": CET}', "get_time", "bad_arguments", id="toolu_1"), usage=TOKENS),
    ),
    (
        "two calls with one id",
        anthropic(*WEATHER_USED, *used(1, TZ), stop="tool_use"),
        whole(ANTH, call(arguments=CET, id=None), usage=TOKENS),
    ),
    (
        "an index is left out",
        anthropic(*said(0, "Hi"), *used(3, TZ), stop="tool_use"),
        whole(call(arguments=CET, id="toolu_1"), text="Hi", usage=TOKENS),
    ),
    (
        "blocks are not stopped",
        anthropic(
            *said(0, "Hi")[:-1],
            *used(1, TZ)[:-1],
            stop="tool_use",
        ),
        whole(call(arguments=CET, id="toolu_1"), text="Hi", usage=TOKENS),
    ),
    (
        "cut by the limit, and the input is whole",
        anthropic(*used(0, '{"amount": 12}', name="send_money"), stop="max_tokens"),
        whole(half('{"amount": 12}', "send_money", id="toolu_1"), stop="max_tokens", usage=TOKENS),
    ),
    (
        "cut by the limit before any input",
        anthropic(*used(0), stop="max_tokens"),
        whole(half("", "get_time", id="toolu_1"), stop="max_tokens", usage=TOKENS),
    ),
    (
        "a stop sequence",
        anthropic(*said(0, "Hi"), stop="stop_sequence", stop_sequence="###"),
        whole(text="Hi", stop="stop_sequence", usage=TOKENS),
    ),
    (
        "a refusal after text",
        anthropic(*said(0, "I "), stop="refusal"),
        whole(text="I ", stop="refusal", usage=TOKENS),
    ),
    (
        "a refusal beside a call",
        anthropic(*WEATHER_USED, stop="refusal"),
        whole(
            {"id": "toolu_1", "name": "get_weather", "status": "truncated"},
            stop="refusal",
            usage=TOKENS,
        ),
    ),
    (
        "a refusal that explains itself",
        anthropic(
            stop="refusal",
            stop_details={"type": "refusal", "category": "cyber", "explanation": "Not this."},
        ),
        whole(text="Not this.", stop="refusal", usage=TOKENS),
    ),
    (
        "tokens from a cache",
        anthropic(
            *said(0, "Hi"),
            usage={
                "input_tokens": 3,
                "output_tokens": 1,
                "cache_read_input_tokens": 6,
                "cache_creation_input_tokens": 2,
            },
        ),
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "no tokens at first",
        anthropic(*said(0, "Hi"), usage=None),
        whole(text="Hi", usage={"input": 0, "output": 7}),
    ),
    (
        "tokens that are null at the end",
        anthropic(
            *said(0, "Hi"),
            {
                "type": "message_delta",
                "delta": {"stop_reason": "end_turn"},
                "usage": {"input_tokens": None, "output_tokens": 7},
            },
            {"type": "message_stop"},
            stop=None,
        ),
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "the content of the message is null at first",
        sse(
            {"type": "message_start", "message": {"content": None, "usage": None}},
            *said(0, "Hi"),
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": None},
            {"type": "message_stop"},
            name="type",
        ).encode(),
        {**whole(text="Hi")},
    ),
    (
        "an end without a reason",
        anthropic(*said(0, "Hi"), {"type": "message_stop"}, stop=None),
        failed("incomplete_stream", text="Hi"),
    ),
    (
        "a clean end in an input",
        anthropic(*used(0, '{"tz":')[:-1], stop=None),
        failed("incomplete_stream", half('{"tz":', "get_time", id="toolu_1")),
    ),
    (
        "an error after a whole call",
        anthropic(
            *WEATHER_USED,
            {"type": "error", "error": {"type": "rate_limit_error", "message": "x"}},
            stop=None,
        ),
        failed("provider", ANTH, type="rate_limit_error"),
    ),
    (
        "an error of the account",
        anthropic({"type": "error", "error": {"type": "billing_error", "message": "x"}}, stop=None),
        failed("provider", retryable=False, type="billing_error"),
    ),
    (
        "an error of the server",
        anthropic({"type": "error", "error": {"type": "api_error", "message": "x"}}, stop=None),
        failed("provider", type="api_error"),
    ),
    (
        "an error of time",
        anthropic({"type": "error", "error": {"type": "timeout_error", "message": "x"}}, stop=None),
        failed("provider", type="timeout_error"),
    ),
    (
        "an error of the key",
        anthropic(
            {"type": "error", "error": {"type": "authentication_error", "message": "x"}}, stop=None
        ),
        failed("provider", retryable=False, type="authentication_error"),
    ),
    (
        "an error after the reply has ended",
        anthropic(*said(0, "Hi")) + b'event: ping\ndata: {"type": "ping"}\n\n',
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "the mark of another API at the end",
        anthropic(*said(0, "Hi")) + b"data: [DONE]\n\n",
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "an end of another API, with a name",
        anthropic(*said(0, "Hi")) + b"event: done\ndata: [DONE]\n\n",
        {**whole(text="Hi", usage=TOKENS), "alt_error": {"kind": "bad_response"}},
    ),
    (
        "a block, a delta and an event that nobody knows",
        anthropic(
            *block(0, {"type": "new_delta"}, type="new_block"),
            {"type": "new_event"},
            *said(1, "Hi"),
        ),
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "CRLF, pings and comments",
        anthropic(*said(0, "Grüße ", "👩‍🚀")).replace(b"\n\n", b"\r\n\r\n: ping\r\n\r\n"),
        whole(text="Grüße 👩‍🚀", usage=TOKENS),
    ),
]
