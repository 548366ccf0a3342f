"""`.env.example`: every block in it works once it is uncommented and has a key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shared.config import VARIABLES, load_settings
from shared.errors import ConfigError

EXAMPLE = Path(__file__).resolve().parent.parent / ".env.example"
PROVIDERS = (
    "OpenAI",
    "Anthropic",
    "DashScope / Bailian",
    "DeepSeek",
    "OpenRouter",
    "Ollama",
    "LM Studio",
    "vLLM",
    "llama.cpp",
)


def blocks() -> dict[str, str]:
    """The commented lines of each provider, uncommented, by its name."""
    parts = re.split(r"^# --- (.+?) -+$", EXAMPLE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        name: "".join(re.findall(r"^#(WORKBOOK_.*\n)", block, flags=re.MULTILINE))
        for name, block in zip(parts[1::2], parts[2::2], strict=True)
    }


def test_every_provider_that_is_promised_has_a_block() -> None:
    names = list(blocks())
    assert len(names) == len(PROVIDERS)
    for promised, name in zip(PROVIDERS, names, strict=True):
        assert name.startswith(promised)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_block_loads_once_a_key_is_in_it(name: str, tmp_path: Path) -> None:
    (block,) = [text for title, text in blocks().items() if title.startswith(name)]
    (tmp_path / ".env").write_text(block.replace("put-your-key-here", "sk-1"), encoding="utf-8")
    assert block.count("\n") == len(VARIABLES)
    assert load_settings({}, tmp_path, tmp_path) is not None


def test_a_block_whose_key_was_forgotten_says_so(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(blocks()["OpenAI"], encoding="utf-8")
    with pytest.raises(ConfigError, match=r"WORKBOOK_API_KEY .* still holds the placeholder"):
        load_settings({}, tmp_path, tmp_path)


def test_copied_but_not_edited_it_configures_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(EXAMPLE.read_bytes())
    assert load_settings({}, tmp_path, tmp_path) is None


def test_it_explains_each_variable_and_says_how_old_it_is() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    for name in VARIABLES:
        assert re.search(rf"^#   {name} ", text, flags=re.MULTILINE)
    assert "as of 2026-11" in text
