"""The adapter, as far as it goes without a server; tests/test_live_path.py goes all the way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chapters.ch01.openai_chat import OpenAIChat, mint_id
from shared.errors import ConfigError

ROOT = Path(__file__).resolve().parents[3]
KEY = "sk-test-0123456789abcdef"


def test_nothing_loads_the_sdk_before_the_first_request() -> None:
    program = (
        "import asyncio, sys\n"
        "from chapters.ch01.openai_chat import OpenAIChat\n"
        "async def main():\n"
        "    async with OpenAIChat(base_url='http://127.0.0.1:9/v1', api_key='k', model='m'):\n"
        "        print({'openai', 'httpx2', 'pydantic'} & set(sys.modules))\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def test_settings_that_cannot_work_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(ConfigError, match="WORKBOOK_API_KEY"):
        OpenAIChat(base_url="http://127.0.0.1:9/v1", api_key="clé", model="m")
    with pytest.raises(ConfigError, match="WORKBOOK_BASE_URL"):
        OpenAIChat(base_url="127.0.0.1:9/v1", api_key=KEY, model="m")


@pytest.mark.anyio
async def test_closing_what_was_never_opened_is_fine() -> None:
    model = OpenAIChat(base_url="http://127.0.0.1:9/v1", api_key=KEY, model="m")
    await model.aclose()
    await model.aclose()


def test_the_key_does_not_show_in_a_repr() -> None:
    model = OpenAIChat(base_url="http://127.0.0.1:9/v1", api_key=KEY, model="m")
    assert KEY not in repr(model)


def test_minted_ids_differ_and_are_legal_everywhere() -> None:
    ids = {mint_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert all(len(one) <= 40 and one.replace("_", "a").isalnum() for one in ids)
