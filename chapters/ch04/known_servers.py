"""The providers that are known by name, each with what it wants. A new one is a new row.

Addresses and differences as of 2026-11; every field can be overridden in `.env`.
"""

from __future__ import annotations

from chapters.ch04.provider import (
    OPENAI_ID,
    PLAIN_ID,
    RESPONSES_ID,
    Api,
    Cache,
    IdRule,
    Provider,
    Strict,
)

GEMINI_URL = "https://generativelanguage.googleapis.com"
GEMINI_ID = IdRule(r".+", 64)  # what Gemini itself has sent is good enough for it
UNSIGNED = "skip_thought_signature_validator"  # Google's word for a call that it did not sign

# region: table
PROVIDERS = (
    Provider(
        "openai",
        Api.CHAT,
        "OpenAI Chat Completions, or any server that speaks it",
        ids=OPENAI_ID,
        max_tools=128,
    ),
    Provider(
        "openai-responses",
        Api.RESPONSES,
        "OpenAI Responses",
        "https://api.openai.com/v1",
        token_limit_key="max_output_tokens",
        strict=Strict.OFF,
        result_images=True,
        ids=RESPONSES_ID,
        max_tools=128,
    ),
    Provider(
        "anthropic",
        Api.ANTHROPIC,
        "Anthropic Messages",
        "https://api.anthropic.com",
        max_tokens=16_000,  # the API wants to be told
        result_images=True,
        ids=PLAIN_ID,
        blank_text=False,
        cache=Cache.SHORT,
        name_limit=128,
    ),
    Provider(
        "gemini",
        Api.GEMINI,
        "Google Gemini",
        GEMINI_URL,
        token_limit_key="maxOutputTokens",
        result_images=True,
        ids=GEMINI_ID,
        foreign_signature=UNSIGNED,
    ),
    Provider(
        "gemini-2",
        Api.GEMINI,
        "Google Gemini, models before 3",
        GEMINI_URL,
        token_limit_key="maxOutputTokens",
        call_ids=False,
        ids=GEMINI_ID,
        foreign_signature=UNSIGNED,
    ),
    Provider(
        "deepseek", Api.CHAT, "DeepSeek", "https://api.deepseek.com", images=False, max_tokens=8_192
    ),
    Provider(
        "dashscope",
        Api.CHAT,
        "Alibaba Cloud Model Studio (Qwen)",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        extra_body={"enable_thinking": False},  # must be false for a reply that is not streamed
    ),
    Provider("openrouter", Api.CHAT, "OpenRouter", "https://openrouter.ai/api/v1"),
    Provider("ollama", Api.CHAT, "Ollama, on this computer", "http://localhost:11434/v1"),
    Provider("lmstudio", Api.CHAT, "LM Studio, on this computer", "http://localhost:1234/v1"),
    Provider("vllm", Api.CHAT, "vLLM, on this computer", "http://localhost:8000/v1"),
    Provider("llamacpp", Api.CHAT, "llama.cpp, on this computer", "http://localhost:8080/v1"),
)
# endregion: table

KNOWN = {provider.name: provider for provider in PROVIDERS}
