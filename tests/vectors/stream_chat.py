"""Answers of Chat Completions in events: what servers send, or could."""

from __future__ import annotations

import json
from typing import Any

from tests.vectors.stream_bodies import Json, chat, delta, piece, sse
from tests.vectors.stream_words import OSLO, ROME, TOKENS, call, failed, half, whole

WEATHER = call("get_weather", {"city": "Oslo"})
BOTH = (WEATHER, call("get_weather", {"city": "Rome"}, id="call_2"))


def start(arguments: Any = "", name: Any = "get_weather", **fields: Any) -> Json:
    """A call begins."""
    return piece(arguments, name, **{"index": 0, "id": "call_1", **fields})


CHAT: list[tuple[str, bytes, Json]] = [
    (
        "index is missing and only the start has an id",
        chat(piece("", "get_weather", id="call_1"), piece('{"city":'), piece('"Oslo"}')),
        whole(WEATHER),
    ),
    (
        "index is missing and two calls come one after the other",
        chat(
            piece('{"city":', "get_weather", id="call_1"),
            piece('"Oslo"}', id="call_1"),
            piece('{"city":', "get_weather", id="call_2"),
            piece('"Rome"}', id="call_2"),
        ),
        whole(*BOTH),
    ),
    (
        "index is missing and pieces of two calls alternate by id",
        chat(
            piece('{"city":', "get_weather", id="call_1"),
            piece('{"city":', "get_weather", id="call_2"),
            piece('"Oslo"}', id="call_1"),
            piece('"Rome"}', id="call_2"),
        ),
        whole(*BOTH),
    ),
    (
        "index is text",
        chat(start(OSLO, index="0")),
        whole(WEATHER),
    ),
    (
        "index is always 0 and whole calls come",
        chat(start(OSLO), start(ROME, id="call_2")),
        whole(*BOTH),
    ),
    (
        "index is always 0 and calls come in pieces",
        chat(
            start('{"city":'),
            piece('"Oslo"}', index=0),
            start("", id="call_2"),
            piece('{"city":', index=0),
            piece('"Rome"}', index=0),
        ),
        whole(*BOTH),
    ),
    (
        "index is always 0 and pieces alternate by id",
        chat(
            start('{"city":'),
            start('{"city":', id="call_2"),
            piece('"Oslo"}', index=0, id="call_1"),
            piece('"Rome"}', index=0, id="call_2"),
        ),
        whole(*BOTH),
    ),
    (
        "index is always 0, no ids, whole calls of one tool",
        chat(piece(OSLO, "get_weather", index=0), piece(ROME, "get_weather", index=0)),
        whole(
            call("get_weather", {"city": "Oslo"}, id=None),
            call("get_weather", {"city": "Rome"}, id=None),
        ),
    ),
    (
        "index is always 0, no ids, two tools without arguments",
        chat(piece("", "get_time", index=0), piece("", "list_dir", index=0)),
        whole(call("get_time", id=None), call("list_dir", id=None)),
    ),
    (
        "all calls in one chunk",
        chat(
            delta(
                tool_calls=[
                    {
                        "index": 0,
                        "id": "call_1",
                        "function": {"name": "get_weather", "arguments": OSLO},
                    },
                    {
                        "index": 1,
                        "id": "call_2",
                        "function": {"name": "get_weather", "arguments": ROME},
                    },
                ]
            )
        ),
        whole(*BOTH),
    ),
    (
        "index begins at 1 and leaves a gap",
        chat(start(OSLO, index=1), start(ROME, index=5, id="call_2")),
        whole(*BOTH),
    ),
    (
        "pieces of two calls alternate",
        chat(
            start("", index=0),
            start("", index=1, id="call_2"),
            piece('{"city":', index=1),
            piece('{"city":', index=0),
            piece('"Oslo"}', index=0),
            piece('"Rome"}', index=1),
        ),
        whole(*BOTH),
    ),
    (
        "id and name are repeated in each piece",
        chat(start(""), start('{"city":'), start('"Oslo"}')),
        whole(WEATHER),
    ),
    (
        "id and name are repeated, also beside a blank after the last bracket",
        chat(start('{"city":'), start('"Oslo"}'), start(" "), start("")),
        whole(WEATHER),
    ),
    (
        "the name is repeated in each piece, without an id",
        chat(
            piece("", "get_weather", index=0),
            piece('{"city":', "get_weather", index=0),
            piece('"Oslo"}', "get_weather", index=0),
        ),
        whole(call("get_weather", {"city": "Oslo"}, id=None)),
    ),
    (
        "the id comes late",
        chat(piece('{"city":', "get_weather", index=0), piece('"Oslo"}', index=0, id="call_1")),
        whole(WEATHER),
    ),
    (
        "the name grows",
        chat(start("", "get_"), start("", "get_wea"), start(OSLO, "get_weather")),
        whole(WEATHER),
    ),
    (
        "the name comes in three pieces",
        chat(
            start("", "get"),
            piece("", "_wea", index=0),
            piece("", "ther", index=0),
            piece(OSLO, index=0),
        ),
        whole(WEATHER),
    ),
    (
        "arguments are repeated from their beginning",
        chat(start('{"city":'), piece('{"city":"Os', index=0), piece(OSLO, index=0)),
        whole(WEATHER),
    ),
    (
        "a piece begins like the one before, and is more of it",
        chat(start('{"city":', "search"), piece('{"city":1}}', index=0)),
        whole(call("search", {"city": {"city": 1}})),
    ),
    (
        "arguments are null",
        chat(piece(None, "get_time", index=0, id="call_1"), delta(tool_calls=None)),
        whole(call()),
    ),
    (
        "an object of arguments is empty",
        chat(start({}, "get_time")),
        whole(call()),
    ),
    (
        "arguments are blank",
        chat(start("  ", "get_time")),
        whole(call()),
    ),
    (
        "arguments are encoded twice",
        chat(start(json.dumps(OSLO))),
        whole(WEATHER),
    ),
    (
        "arguments hold NaN",
        chat(start('{"amount":NaN}', "send_money")),
        whole(half('{"amount":NaN}', "send_money", "bad_arguments")),
    ),
    (
        "an escape is cut between two pieces",
        chat(start('{"city":"\\ud83'), piece('d\\ude80"}', index=0)),
        whole(call("get_weather", {"city": "🚀"})),
    ),
    (
        "two halves of a character come in two chunks",
        sse(
            '{"choices":[{"index":0,"delta":{"content":"a\\ud83d"},"finish_reason":null}]}',
            '{"choices":[{"index":0,"delta":{"content":"\\ude80b"},"finish_reason":"stop"}]}',
            "[DONE]",
        ).encode(),
        whole(text="a🚀b"),
    ),
    (
        "a tool that nobody offered",
        chat(start("{}", "rm")),
        whole(call("rm", status="unknown_tool")),
    ),
    (
        "a call without a name",
        chat(piece("{}", index=0, id="call_1")),
        whole(call("", status="unknown_tool")),
    ),
    (
        "finish says stop beside calls",
        chat(start(OSLO), finish="stop"),
        whole(WEATHER),
    ),
    (
        "finish says tool_calls without any",
        chat(delta(content="Hi")),
        whole(text="Hi"),
    ),
    (
        "finish is a word that nobody knows",
        chat(delta(content="Hi"), finish="eos_token"),
        whole(text="Hi", stop="unknown"),
    ),
    (
        "finish comes before more text and tokens",
        chat(
            delta("stop", content="Hi"),
            delta(content="!"),
            {"choices": [], "usage": {"prompt_tokens": 11, "completion_tokens": 7}},
            finish=None,
        ),
        whole(text="Hi!", usage=TOKENS),
    ),
    (
        "finish never comes after a whole call",
        chat(start(OSLO), finish=None),
        failed("incomplete_stream", WEATHER),
    ),
    (
        "a clean end in arguments",
        chat(start('{"path":'), finish=None, done=False),
        failed("incomplete_stream", half('{"path":', "get_weather")),
    ),
    (
        "nothing but [DONE]",
        b"data: [DONE]\n\n",
        failed("bad_response"),
    ),
    (
        "no byte at all",
        b"",
        failed("bad_response"),
    ),
    (
        "a last event without [DONE]",
        chat(delta(content="Hi"), finish="stop", done=False),
        whole(text="Hi"),
    ),
    (
        "choices are empty at first",
        chat(
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            delta(content="Hi"),
            finish="stop",
        ),
        whole(text="Hi"),
    ),
    (
        "function and delta are null",
        chat(
            {"choices": [{"index": 0, "delta": None, "finish_reason": None}]},
            delta(tool_calls=[{"index": 0, "id": "call_1", "function": None}]),
            start(OSLO),
        ),
        whole(WEATHER),
    ),
    (
        "cut by the limit before any argument",
        chat(start("", "get_time"), finish="length"),
        whole(half("", "get_time"), stop="max_tokens"),
    ),
    (
        "cut by the limit, and the server closed the JSON",
        chat(start('{"path":"a.py","text":"pri"}', "write_file"), finish="length"),
        whole(half('{"path":"a.py","text":"pri"}'), stop="max_tokens"),
    ),
    (
        "cut by the limit in a number",
        chat(start('{"amount": 12', "send_money"), finish="length"),
        whole(half('{"amount": 12', "send_money"), stop="max_tokens"),
    ),
    (
        "cut by the limit in the second call",
        chat(start(OSLO), start('{"path":', "write_file", index=1, id="call_2"), finish="length"),
        whole(WEATHER, half('{"path":', id="call_2"), stop="max_tokens"),
    ),
    (
        "the limit went into thinking",
        chat(delta(reasoning_content="Hm"), delta(reasoning_content="m."), finish="length"),
        whole(stop="max_tokens", reasoning="Hmm."),
    ),
    (
        "thinking under two names at once",
        chat(delta(reasoning="Hm", reasoning_content="Hm"), delta(content="Hi"), finish="stop"),
        whole(text="Hi", reasoning="Hm"),
    ),
    (
        "the filter stops a call",
        chat(start(OSLO), finish="content_filter"),
        whole(half(OSLO, "get_weather"), stop="content_filter"),
    ),
    (
        "text after a call",
        chat(delta(content="a"), start(OSLO), delta(content="b")),
        {
            **whole(WEATHER, text="ab"),
        },
    ),
    (
        "an error with a number as code",
        chat(delta(content="Hel"), {"error": {"code": 429, "message": "slow"}}, finish=None),
        failed("provider", text="Hel", code="429"),
    ),
    (
        "an error that is the end of the credit",
        chat({"error": {"code": "insufficient_quota", "message": "no"}}, finish=None),
        failed("provider", retryable=False, code="insufficient_quota"),
    ),
    (
        "an error that is a too long conversation",
        chat(
            {
                "error": {
                    "code": "context_length_exceeded",
                    "type": "invalid_request_error",
                    "message": "This model's maximum context length is 8192 tokens",
                }
            },
            finish=None,
        ),
        failed("provider", retryable=False, code="context_length_exceeded"),
    ),
    (
        "an error that is text",
        chat(delta(content="Hel"), {"error": "upstream died"}, finish=None),
        failed("provider", text="Hel"),
    ),
    (
        "an error beside a finish reason",
        chat(
            delta(content="Hel"),
            {
                "error": {"code": 502, "message": "upstream"},
                "choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}],
            },
            finish=None,
        ),
        failed("provider", text="Hel", code="502"),
    ),
    (
        "an error as a chunk of its own kind",
        chat(
            {"object": "error", "message": "no", "type": "BadRequestError", "code": 400},
            finish=None,
        ),
        failed("provider", retryable=False, code="400"),
    ),
    (
        "an error as a chunk of no kind",
        chat({"message": "no", "type": "BadRequestError", "param": None, "code": 400}, finish=None),
        failed("provider", retryable=False, code="400"),
    ),
    (
        "an error as an event with a name",
        b'event: error\ndata: {"error": {"code": 503, "message": "busy"}}\n\n',
        failed("provider", code="503"),
    ),
    (
        "a tool that takes text",
        chat(
            delta(
                tool_calls=[
                    {
                        "index": 0,
                        "id": "call_1",
                        "type": "custom",
                        "custom": {"name": "apply_patch", "input": "*** "},
                    }
                ]
            ),
            delta(tool_calls=[{"index": 0, "custom": {"input": "Begin"}}]),
        ),
        {
            **whole(),
            "custom_calls": [{"id": "call_1", "name": "apply_patch", "input": "*** Begin"}],
        },
    ),
    (
        "an error that is null is none",
        chat({**delta(content="Hi"), "error": None}, finish="stop"),
        whole(text="Hi"),
    ),
    (
        "an event that is null is none",
        chat("null", delta(content="Hi"), "null", finish="stop"),
        whole(text="Hi"),
    ),
    (
        "an event that is no object",
        chat(delta(content="Hi"), "[1]", finish="stop"),
        failed("bad_response", text="Hi"),
    ),
    (
        "the older function_call",
        chat(
            delta(function_call={"name": "get_weather", "arguments": ""}),
            delta(function_call={"arguments": OSLO}),
            finish="function_call",
        ),
        whole(call("get_weather", {"city": "Oslo"}, id=None)),
    ),
    (
        "content is a list of parts",
        chat(delta(content=[{"type": "text", "text": "Hi"}]), finish="stop"),
        whole(text="Hi"),
    ),
    (
        "tokens stand in the choice",
        chat(
            delta(content="Hi"),
            {
                "choices": [
                    {
                        "index": 0,
                        "delta": {},
                        "finish_reason": "stop",
                        "usage": {"prompt_tokens": 11, "completion_tokens": 7},
                    }
                ]
            },
            finish=None,
        ),
        whole(text="Hi", usage=TOKENS),
    ),
    (
        "tokens come with each chunk, and null at the end",
        chat(
            {**delta(content="Hi"), "usage": {"prompt_tokens": 11, "completion_tokens": 3}},
            {**delta("stop"), "usage": {"prompt_tokens": 11, "completion_tokens": 7}},
            {"choices": [], "usage": None},
            finish=None,
        ),
        whole(text="Hi", usage=TOKENS),
    ),
]
