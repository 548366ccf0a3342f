"""A page on a terminal: through a pager only if it is long, and never without the way out."""

from __future__ import annotations

import os

import pytest

from labs.desk.page import less_that_explains_itself, show


@pytest.fixture
def paged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was handed to the pager, on a terminal of ten lines."""
    texts: list[str] = []
    monkeypatch.setattr("click.echo_via_pager", lambda text, color: texts.append(text))
    monkeypatch.setattr("shutil.get_terminal_size", lambda _: os.terminal_size((80, 10)))
    monkeypatch.setattr("labs.desk.page.at_a_screen", lambda: True)
    return texts


def test_less_says_how_to_go_on_and_how_to_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.delenv("PAGER", raising=False)
    with less_that_explains_itself(os.environ):
        assert os.environ["LESS"].startswith("-R -Ps")
        assert "q leaves" in os.environ["LESS"]
    assert "LESS" not in os.environ


@pytest.mark.parametrize("setting", [{"LESS": "-S"}, {"PAGER": "more"}])
def test_a_reader_who_has_chosen_keeps_the_choice(
    setting: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LESS", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    with less_that_explains_itself(os.environ):
        assert os.environ.get("LESS") == setting.get("LESS")
    assert os.environ.get("LESS") == setting.get("LESS")


def test_only_a_long_page_is_paged(paged: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    show("short\n")
    assert paged == []
    assert "short" in capsys.readouterr().out
    show("line\n\n" * 20)
    assert len(paged) == 1
