"""What the tests of this chapter may use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chapters.ch01.tests.real_commands import RealWorkspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[RealWorkspace]:
    """A directory for real commands; what they leave running is killed in the end."""
    place = RealWorkspace(tmp_path)
    yield place
    place.kill_what_is_left()
