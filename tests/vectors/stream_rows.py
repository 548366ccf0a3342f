"""Streamed answers that servers send, or could: beside the set in `wire`, kinds that it lacks.

Each is a name, a body, and how it has to be understood, in the words of that set's README.
"""

from __future__ import annotations

import json

from chapters.ch04.conformance.rows import Row
from tests.vectors.stream_anthropic import ANTH, ANTHROPIC, WEATHER_USED
from tests.vectors.stream_bodies import (
    added,
    anthropic,
    calling,
    chat,
    done,
    function,
    gemini,
    parts,
    responses,
)
from tests.vectors.stream_chat import CHAT, WEATHER, start
from tests.vectors.stream_gemini import GEMINI
from tests.vectors.stream_responses import RESPONSES
from tests.vectors.stream_words import CET, OSLO, TZ, call, failed, whole

JSON = "application/json"
STREAMS = [
    (f"{api}: {name}", Row(f"{api}-{number}.sse", api, "stream", body, name, expect=expect))
    for api, rows in (
        ("openai-chat", CHAT),
        ("openai-responses", RESPONSES),
        ("anthropic", ANTHROPIC),
        ("gemini", GEMINI),
    )
    for number, (name, body, expect) in enumerate(rows)
]

# How a connection ends is part of a row.
BROKEN_OFF = [
    (
        f"{row.api}: {name} after a call",
        Row(
            f"{row.api}-{end}.sse",
            row.api,
            "stream",
            row.content,
            expect={
                **row.expect,
                "stop_reason": None,
                "error": {"kind": kind, "retryable": True},
            },
            http={"end": end, **({"client_timeout_s": 0.4} if end == "hang" else {})},
        ),
    )
    for end, kind, name in (
        ("abort", "connection", "the connection drops"),
        ("hang", "timeout", "nothing more comes"),
    )
    for row in (
        Row(
            "",
            "openai-chat",
            "stream",
            chat(start(OSLO), finish=None, done=False),
            expect=whole(WEATHER),
        ),
        Row(
            "",
            "openai-responses",
            "stream",
            responses(added(0, **function(0, "")), done(0, **function(0, TZ)), end=""),
            expect=whole(call(arguments=CET)),
        ),
        Row("", "anthropic", "stream", anthropic(*WEATHER_USED, stop=None), expect=whole(ANTH)),
        Row(
            "", "gemini", "stream", gemini(parts(calling("get_time"))), expect=whole(call(id=None))
        ),
    )
]

PAGE = b"<!doctype html><title>Sign in</title>"
ANSWERS = {
    "openai-chat": {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]},
    "openai-responses": {"status": "completed", "output": []},
    "anthropic": {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
}
REFUSED = [
    (400, failed("provider", retryable=False, status=400)),
    (401, failed("provider", retryable=False, status=401)),
    (429, failed("provider", status=429)),
    (503, failed("provider", status=503)),
]

# What comes instead of a stream.
NO_STREAM = [
    *[
        (
            f"{api}: {name} instead of a stream",
            Row(f"{api}-{name}", api, "stream", body, expect=failed("bad_response"), http=http),
        )
        for api, answer in ANSWERS.items()
        for name, body, http in (
            ("a page", PAGE, {"content_type": "text/html"}),
            ("an answer in one piece", json.dumps(answer).encode(), {"content_type": JSON}),
        )
    ],
    *[
        (
            f"{api}: status {status} instead of a stream",
            Row(
                f"{api}-{status}",
                api,
                "stream",
                json.dumps({"error": {"message": "no", "code": status}}).encode(),
                expect=expect,
                http={"status": status, "content_type": JSON},
            ),
        )
        for api in ANSWERS
        for status, expect in REFUSED
    ],
    (
        "openai-chat: too many requests, then a stream",
        Row(
            "again.sse",
            "openai-chat",
            "stream",
            chat(start(OSLO)),
            expect={**whole(WEATHER), "requests": 2},
            http={
                "before": [{"status": 429, "body": "{}", "headers": {"retry-after": "0.01"}}],
                "client_retries": 1,
            },
        ),
    ),
]
