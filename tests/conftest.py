"""What the tests of this folder may use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import Workbook


@pytest.fixture
def anyio_backend() -> str:
    """Tests marked `anyio` run on asyncio."""
    return "asyncio"


@pytest.fixture
def workbook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Workbook:
    """The command, typed in an empty folder by somebody who has nothing configured."""
    return Workbook(tmp_path, monkeypatch, capsys)
