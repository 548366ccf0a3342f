"""Our record for what a row says about a provider."""

from __future__ import annotations

import re
from dataclasses import replace

from chapters.ch04.known_servers import KNOWN
from chapters.ch04.provider import ANY_ID, PLAIN_ID, Api, Cache, Provider, Strict, Target
from tests.vectors.peer_row import Json

OUR_APIS = {
    "openai-completions": Api.CHAT,
    "openai-responses": Api.RESPONSES,
    "anthropic-messages": Api.ANTHROPIC,
    "google-generative-ai": Api.GEMINI,
}
COMPOSITE_IDS = ("openai", "openai-codex", "opencode")
"""Providers for whom the library keeps `call|item` in one field; we keep two."""

NOT_STRICT = ("moonshotai", "moonshotai-cn", "together", "cloudflare-ai-gateway", "nvidia")


class NotOurs(Exception):
    """The row is about something that this workbook does not have; the text says what."""


def target_of(given: Json) -> Target:
    """Whom a row's request is for. Raises NotOurs for an API that is not spoken here."""
    api, provider, model = whom(given)
    if api not in OUR_APIS:
        raise NotOurs(f"the API {api}")
    return Target(provider_of(given, OUR_APIS[api], provider, model), model)


def whom(given: Json) -> tuple[str, str, str]:
    """API, provider and model of a row, wherever the row holds them."""
    if "function" in given:
        return "", "", ""
    if "target" in given:
        target = given["target"]
        return target["api"], target["provider"], target["model"]
    model = given.get("model")
    if isinstance(model, dict):
        return given.get("api") or model["api"], model["provider"], model["id"]
    return given["api"], given["provider"], str(model)


def compat_of(given: Json) -> Json:
    """What a row says about its provider."""
    model = given.get("model")
    own = model.get("compat") if isinstance(model, dict) else None
    return {**(own or {}), **(given.get("compat") or {})}


def provider_of(given: Json, api: Api, name: str, model: str) -> Provider:
    """Our record for what a row says about a provider."""
    model_said = given.get("model")
    said: Json = model_said if isinstance(model_said, dict) else {}
    compat, reasons = compat_of(given), bool(said.get("reasoning"))
    developer = reasons and compat.get("supportsDeveloperRole", True)
    record = replace(
        _base(api, compat),
        name=name,
        images="image" in said.get("input", ["text", "image"]),
        strict=_strict(given, compat, api, name),
        system_role="developer" if developer else "system",
    )
    match api:
        case Api.CHAT if name != "openai":
            return replace(record, ids=ANY_ID)
        case Api.ANTHROPIC:
            kept = given.get("cacheRetention", "short")
            if kept == "long" and not compat.get("supportsLongCacheRetention", True):
                kept = "short"
            eager = compat.get("supportsEagerToolInputStreaming", True)
            return replace(record, cache=Cache(kept), eager_input=eager)
        case Api.GEMINI:
            record = replace(record, result_images=_shows_in_results(model))
            if not _wants_ids(model):
                return record
            return replace(record, call_ids=True, ids=PLAIN_ID, foreign_signature="")
    return record


def _base(api: Api, compat: Json) -> Provider:
    match api:
        case Api.CHAT:
            bridge = bool(compat.get("requiresAssistantAfterToolResult"))
            return replace(
                KNOWN["openai"],
                empty_content="" if bridge else None,
                reply_after_results=bridge,
                result_name=bool(compat.get("requiresToolResultName")),
                echo_reasoning=not compat.get("requiresThinkingAsText"),
            )
        case Api.RESPONSES:
            return KNOWN["openai-responses"]
        case Api.ANTHROPIC:
            unsigned = bool(compat.get("allowEmptySignature"))
            return replace(KNOWN["anthropic"], unsigned_thinking=unsigned)
        case Api.GEMINI:
            return KNOWN["gemini-2"]


def _wants_ids(model: str) -> bool:
    return model.startswith(("claude-", "gpt-oss-"))


def _shows_in_results(model: str) -> bool:
    version = re.search(r"gemini-(?:live-)?(\d+)", model)
    return version is None or int(version[1]) >= 3


def _strict(given: Json, compat: Json, api: Api, name: str) -> Strict:
    wished = any(wishes_strict(tool) for tool in given.get("tools") or ())
    if api is Api.ANTHROPIC:
        return Strict.ON if wished and compat.get("supportsStrictTools") else Strict.OMIT
    if not compat.get("supportsStrictMode", name not in NOT_STRICT):
        return Strict.OMIT
    return Strict.ON if wished else Strict.OFF


def wishes_strict(tool: Json) -> bool:
    """Whether a tool of a row asks for strict decoding."""
    wish = tool.get("constrainedSampling") or {}
    return wish.get("type") == "json_schema" and wish.get("strict") in ("prefer", "require")
