"""The versions that break, and the inputs that break them."""

from __future__ import annotations

from pathlib import Path

import pytest

from chapters.ch02.naive_path import read_joined, read_resolved
from shared.errors import ToolError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in [
        ("work/d/f.txt", "inside"),
        ("work-2/f.txt", "SECRET"),
        ("x/f.txt", "SECRET"),
    ]:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "work"


def test_both_stop_the_plainest_escape(root: Path) -> None:
    for read in (read_joined, read_resolved):
        assert read(root, "d/f.txt") == "inside"
        with pytest.raises(ToolError):
            read(root, "../x/f.txt")


def test_comparing_text_lets_a_neighbour_with_a_longer_name_pass(root: Path) -> None:
    assert read_joined(root, "../work-2/f.txt") == "SECRET"


def test_comparing_text_does_not_see_links(root: Path) -> None:
    (root / "link").symlink_to("../x")
    assert read_joined(root, "link/f.txt") == "SECRET"


def test_resolving_sees_both(root: Path) -> None:
    (root / "link").symlink_to("../x")
    for path in ("../work-2/f.txt", "link/f.txt"):
        with pytest.raises(ToolError):
            read_resolved(root, path)


def test_resolving_opens_what_it_has_not_checked_if_the_path_changes_in_between(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_check = Path.is_relative_to

    def check_then_exchange(path: Path, other: Path) -> bool:
        inside = real_check(path, other)
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to("../x")
        return inside

    monkeypatch.setattr(Path, "is_relative_to", check_then_exchange)
    assert read_resolved(root, "d/f.txt") == "SECRET"
