"""Answers of Gemini in events: what servers send, or could."""

from __future__ import annotations

from tests.vectors.stream_bodies import Json, calling, gemini, parts
from tests.vectors.stream_words import GEMINI_USAGE, TOKENS, call, failed, whole

SIGNED = {**calling("get_weather", {"city": "Oslo"}), "thoughtSignature": "c2ln"}

GEMINI: list[tuple[str, bytes, Json]] = [
    (
        "two calls without ids, one with a signature",
        gemini(
            parts(SIGNED, calling("get_weather", {"city": "Rome"}), finish="STOP", **GEMINI_USAGE)
        ),
        {
            **whole(
                call("get_weather", {"city": "Oslo"}, id=None, signature=True),
                call("get_weather", {"city": "Rome"}, id=None, signature=False),
                usage=TOKENS,
            ),
            "echo": [SIGNED],
        },
    ),
    (
        "a call without arguments",
        gemini(parts(calling("get_time"), finish="STOP")),
        whole(call(id=None)),
    ),
    (
        "two calls with one id, in two chunks",
        gemini(
            parts(calling("get_time", id="a")), parts(calling("get_time", id="a"), finish="STOP")
        ),
        whole(call(id="a"), call(id=None)),
    ),
    (
        "the end comes in a chunk of its own",
        gemini(
            parts({"text": "Hel"}),
            parts({"text": "lo"}),
            {"candidates": [{"finishReason": "STOP", "index": 0}], **GEMINI_USAGE},
        ),
        whole(text="Hello", usage=TOKENS),
    ),
    (
        "tokens come with each chunk",
        gemini(
            parts({"text": "Hel"}, usageMetadata={"promptTokenCount": 11}),
            parts({"text": "lo"}, finish="STOP", **GEMINI_USAGE),
        ),
        whole(text="Hello", usage=TOKENS),
    ),
    (
        "thinking, then text, then a signature alone",
        gemini(
            parts({"text": "H", "thought": True}),
            parts({"text": "m", "thought": True}),
            parts({"text": "Hello"}),
            parts({"text": "", "thoughtSignature": "c2ln"}, finish="STOP"),
        ),
        whole(text="Hello", reasoning="Hm"),
    ),
    (
        "text around a call",
        gemini(parts({"text": "a"}), parts(calling("get_time"), {"text": "b"}, finish="STOP")),
        whole(call(id=None), text="ab"),
    ),
    (
        "a call and the limit",
        gemini(parts(calling("get_time", {"tz": "CET"}), finish="MAX_TOKENS")),
        whole({"id": None, "name": "get_time", "status": "truncated"}, stop="max_tokens"),
    ),
    (
        "a call that the server could not read",
        gemini(
            {"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "no"}]}
        ),
        whole(stop="malformed_call"),
    ),
    (
        "stopped for safety",
        gemini(parts({"text": "Hel"}), {"candidates": [{"finishReason": "SAFETY"}]}),
        whole(text="Hel", stop="content_filter"),
    ),
    (
        "a clean end after a call",
        gemini(parts(calling("get_time"))),
        failed("incomplete_stream", call(id=None)),
    ),
    (
        "an error that may pass",
        gemini(
            parts({"text": "Hel"}),
            {"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}},
        ),
        failed("provider", text="Hel", status=429, type="RESOURCE_EXHAUSTED"),
    ),
    (
        "an error that will not",
        gemini({"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}),
        failed("provider", retryable=False, status=400, type="INVALID_ARGUMENT"),
    ),
    (
        "a last event without its blank line",
        gemini(parts({"text": "Hello"}, finish="STOP")).rstrip(),
        whole(text="Hello"),
    ),
    (
        "a page",
        b"<!doctype html><title>Sign in</title>",
        failed("bad_response"),
    ),
    (
        "a mark that it does not know",
        gemini(parts({"text": "Hel"})) + b"data: [DONE]\n\n",
        failed("bad_response", text="Hel"),
    ),
]
