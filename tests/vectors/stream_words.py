"""How a streamed answer has to be understood, in the words of the known set."""

from __future__ import annotations

from typing import Any

from tests.vectors.stream_bodies import Json

TZ = '{"tz":"CET"}'
CET = {"tz": "CET"}
OSLO, ROME = '{"city":"Oslo"}', '{"city":"Rome"}'
TOKENS = {"input": 11, "output": 7}
RESPONSES_USAGE = {"usage": {"input_tokens": 11, "output_tokens": 7}}
GEMINI_USAGE = {"usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 7}}


def call(name: str = "get_time", arguments: Any = None, **other: Any) -> Json:
    """A call that can be run, or what `other` says of it."""
    told: Json = {"id": "call_1", "name": name, "status": "ok", **other}
    return told if "raw" in told else {**told, "arguments": arguments or {}}


def half(raw: str, name: str = "write_file", status: str = "truncated", **other: Any) -> Json:
    """A call whose arguments are not to be used."""
    return call(name, status=status, raw=raw, **other)


def whole(*calls: Json, text: str = "", stop: str = "", **message: Any) -> Json:
    """A reply that came to its end."""
    stop = stop or ("tool_use" if calls else "end_turn")
    return {
        "message": {"text": text, "tool_calls": list(calls), **message},
        "stop_reason": stop,
        "error": None,
    }


def failed(kind: str, *calls: Json, text: str = "", retryable: bool = True, **error: Any) -> Json:
    """A reply that is none, and what was shown of it."""
    return {
        "message": {"text": text, "tool_calls": list(calls)},
        "stop_reason": None,
        "error": {"kind": kind, "retryable": retryable, **error},
    }
