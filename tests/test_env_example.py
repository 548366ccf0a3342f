"""`.env.example`: every block in it works once it is uncommented and has a key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chapters.ch04.known_servers import KNOWN
from labs.provider import NOT_TO_OVERRIDE, known_providers
from shared.config import VARIABLES, Settings, load_settings, variables_of
from shared.errors import ConfigError

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
BLOCKS = {  # how the title of a block begins: the provider it is for
    "OpenAI, Chat Completions": "openai",
    "OpenAI, Responses": "openai-responses",
    "Anthropic": "anthropic",
    "Gemini": "gemini",
    "DashScope / Bailian": "dashscope",
    "DeepSeek": "deepseek",
    "OpenRouter": "openrouter",
    "Ollama": "ollama",
    "LM Studio": "lmstudio",
    "vLLM": "vllm",
    "llama.cpp": "llamacpp",
}


def parts() -> dict[str, str]:
    """The text of each block by its title; before the first, the explanation under ""."""
    text = EXAMPLE.read_text(encoding="utf-8")
    found = ["", *re.split(r"^# --- (.+?) -+$", text, flags=re.MULTILINE)]
    return dict(zip(found[::2], found[1::2], strict=True))


def blocks() -> dict[str, str]:
    """The commented lines of each provider, uncommented, by its title."""
    return {
        title: "".join(re.findall(r"^#(WORKBOOK_.*\n)", text, flags=re.MULTILINE))
        for title, text in parts().items()
        if title
    }


def load(folder: Path, text: str, *, provider: str | None = None) -> Settings | None:
    """The settings of a `.env` that holds `text`."""
    (folder / ".env").write_text(text, encoding="utf-8")
    return load_settings({}, folder, folder, provider=provider, providers=known_providers())


def test_every_provider_that_is_promised_has_a_block() -> None:
    names = list(blocks())
    assert len(names) == len(BLOCKS)
    for promised, name in zip(BLOCKS, names, strict=True):
        assert name.startswith(promised)
    assert {*BLOCKS.values(), "gemini-2"} == KNOWN.keys()
    assert "WORKBOOK_PROVIDER=gemini\n" in parts()["Gemini"]


@pytest.mark.parametrize("title", BLOCKS)
def test_a_block_loads_once_a_key_is_in_it(title: str, tmp_path: Path) -> None:
    (block,) = [text for name, text in blocks().items() if name.startswith(title)]
    settings = load(tmp_path, block.replace("put-your-key-here", "sk-1"))
    assert settings is not None
    assert settings.provider == BLOCKS[title]
    assert settings.unknown == ()
    address = KNOWN[settings.provider].base_url
    assert settings.base_url == address or (address is None and "WORKBOOK_BASE_URL=" in block)
    lines = 4 if address is None else 3
    assert block.count("\n") == lines, "no line that the provider does not need"


def test_a_block_whose_key_was_forgotten_says_so(tmp_path: Path) -> None:
    for block in blocks().values():
        if "put-your-key-here" in block:
            with pytest.raises(ConfigError, match=r"WORKBOOK_API_KEY .* still holds the placehold"):
                load(tmp_path, block)


def test_copied_but_not_edited_it_configures_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, EXAMPLE.read_text(encoding="utf-8")) is None


def test_it_explains_each_variable_and_says_how_old_it_is() -> None:
    text = parts()[""]
    for name in VARIABLES:
        assert re.search(rf"^#   {name} ", text, flags=re.MULTILINE)
    assert "as of 2026-11" in text


def test_it_names_every_provider_and_every_variable_it_shows_is_one() -> None:
    text = " ".join(parts()[""].replace("\n#", " ").split())
    assert f"One of: {' '.join(KNOWN)} " in text
    known = variables_of(known_providers())
    for name in re.findall(r"WORKBOOK_[A-Z0-9_]+", EXAMPLE.read_text(encoding="utf-8")):
        assert name in known


def test_the_values_it_shows_are_taken(tmp_path: Path) -> None:
    shown = dict(re.findall(r"(WORKBOOK_[A-Z_]+)=(\S+(?: \d\})?)", parts()[""]))
    overrides = {name: value for name, value in shown.items() if value != "…"}
    assert len(overrides) == 6
    lines = "".join(f"{name}={value}\n" for name, value in overrides.items())
    seen: set[str] = set()
    for provider in KNOWN:
        plain = f"WORKBOOK_PROVIDER={provider}\nWORKBOOK_BASE_URL=http://h\nWORKBOOK_API_KEY=k\n"
        settings = load(tmp_path, f"{plain}WORKBOOK_MODEL=m\n{lines}")
        assert settings is not None
        seen |= settings.overrides.keys()
    assert seen == {"max_tokens", "empty_content", "images", "extra_body", "cache", "strict"}


def test_it_says_which_fields_cannot_be_set() -> None:
    text = " ".join(parts()[""].replace("\n#", " ").split())
    listed = re.search(r"All but ([\w, ]+):", text)
    assert listed is not None
    assert set(re.split(r", | and ", listed[1])) == NOT_TO_OVERRIDE
