"""Which field of a record matters at which API, and which one a refusal is about: two tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from chapters.ch04.provider import Api, Provider

# region: effect
# Fields that an adapter never looks at, since its API has nothing that they could change.
WITHOUT_EFFECT: Mapping[Api, frozenset[str]] = {
    Api.CHAT: frozenset({"unsigned_thinking", "foreign_signature", "call_ids"})
    | {"cache", "eager_input"},
    Api.RESPONSES: frozenset({"unsigned_thinking", "foreign_signature", "call_ids"})
    | {"stream_usage"}
    | {"cache", "eager_input"}
    | {"system_role", "empty_content", "result_name", "reply_after_results"},
    Api.ANTHROPIC: frozenset({"foreign_signature", "call_ids", "stream_usage"})
    | {"system_role", "empty_content", "result_name", "reply_after_results"},
    Api.GEMINI: frozenset({"unsigned_thinking", "strict", "cache", "eager_input"})
    | {"stream_usage"}
    | {"system_role", "empty_content", "result_name", "reply_after_results"},
}
# endregion: effect


@dataclass(frozen=True, slots=True)
class Sign:
    """Words in a refusal that speak of a field, and the value to try; "" where there are many."""

    field: str
    value: str
    words: str


# region: signs
LIMIT_KEY = r"max_?(new|output|completion)?_?tokens"
UNKNOWN = r"un(supported|known|recogni[sz]ed|expected)|not (supported|allowed|permitted)|instead"
SIGNS = (  # the first that fits counts
    Sign(
        "token_limit_key", "", rf"({UNKNOWN}).{{0,60}}{LIMIT_KEY}|{LIMIT_KEY}.{{0,60}}({UNKNOWN})"
    ),
    Sign("max_tokens", "", LIMIT_KEY),
    Sign("stream_usage", "false", r"stream_options|include_usage"),
    Sign("cache", "none", r"cache_control"),
    Sign("eager_input", "false", r"eager_input_streaming"),
    Sign("extra_body", "", r"enable_thinking|temperature|\btop_[pk]\b|chat_template_kwargs"),
    Sign("strict", "off", r"\bstrict\b|additional_?properties"),
    Sign("strict", "omit", r"\bstrict\b"),
    Sign("foreign_signature", "", r"thought_?signature"),
    Sign("echo_reasoning", "false", r"\breasoning(_content|_text)?\b|\bthinking\b"),
    Sign("result_images", "false", r"\btool\b.{0,60}image|image.{0,60}\btool\b"),
    Sign("images", "false", r"\bimages?\b|image_url|multi-?modal"),
    Sign("system_role", "", r"\brole\b.{0,60}\b(system|developer)\b"),
    Sign("system_role", "", r"\b(system|developer)\b.{0,60}\brole\b"),
    Sign("reply_after_results", "true", r"\buser\b.{0,40}\bafter\b.{0,40}\btool"),
    Sign("name_limit", "", r"\bname\b.{0,60}(\blong|\blength|at most|pattern|characters)"),
    Sign("result_name", "true", r"\bname\b.{0,60}(missing|required)|missing.{0,60}\bname\b"),
    Sign("blank_text", "false", r"non-?(empty|blank|whitespace)|must not be (empty|blank)"),
    Sign("empty_content", "null", r"\bcontent\b.{0,80}\b(null|none|nil|empty|required)\b"),
    Sign("empty_content", "empty", r"\bcontent\b.{0,80}\b(null|none|nil|string|str|required)\b"),
)
KEYS = re.compile(  # of a request, but of no sign
    r"(?i)\b(messages|contents|tool_calls|tool_call_id|tool_choice|parameters|input_schema|store|"
    r"include|extra inputs|(unknown|unrecogni[sz]ed|unsupported) (field|parameter|name|argument))\b"
    r"|['\"`.](content|role|name|type|input|tools|function|arguments|description)\b"
)
# endregion: signs

GENERAL = (
    "What one server wants differently can be set in .env: see the fields in .env.example, and try "
    "`workbook conformance --live`."
)


def advice_on(said: str, provider: Provider, prefix: str = "WORKBOOK_") -> str:
    """What to set after a refusal with these words; "" if they name no key of a request.

    `prefix` is how the names of the settings begin.
    """
    without_effect = WITHOUT_EFFECT.get(provider.api)
    if without_effect is None:  # an API of your own, whose record is in no `.env`
        return ""
    said = said[:4_000]
    for sign in SIGNS:
        pointless = sign.value == _shown(getattr(provider, sign.field))
        if pointless or sign.field in without_effect:
            continue
        if re.search(f"(?i){sign.words}", said):
            variable = f"{prefix}{sign.field.upper()}"
            setting = f"{variable}={sign.value}" if sign.value else f"another {variable}"
            return f"Perhaps this server wants {setting}: see the fields in .env.example."
    return GENERAL if KEYS.search(said) else ""


def _shown(value: object) -> str:
    """A value as it is written in `.env`."""
    return {"": "empty", "None": "null"}.get(str(value), str(value).lower())
