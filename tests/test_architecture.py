"""The house: which rooms there are, which way the doors open, and what must not be loaded early."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("openai", "anthropic", "pydantic", "httpx2", "rich", "psutil", "asyncio")


def test_imports_go_only_the_way_the_design_allows() -> None:
    """Runs the contracts of pyproject.toml; the output of a failure names file and line."""
    pytest.importorskip("importlinter", reason="pip install -e '.[dev]'")
    # In a process of its own: the linter switches off every logger that exists by then.
    program = (
        "from importlinter.cli import lint_imports as lint; raise SystemExit(lint(no_cache=True))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_every_folder_with_python_is_a_package() -> None:
    """Import-linter does not see a folder without `__init__.py`."""
    folders = {
        path.parent
        for top in ("chapters", "labs", "shared", "tests")
        for path in (ROOT / top).rglob("*.py")
    }
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_top_level_holds_nothing_else() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        pytest.skip("not a git checkout, so there is no list of files")
    tops = {line.split("/")[0] for line in listed.stdout.splitlines()}
    visible = {name for name in tops if not name.startswith(".")}
    assert visible == {
        "chapters", "shared", "labs", "tests", "README.md", "pyproject.toml", "LICENSE",
    }  # fmt: skip


@pytest.mark.parametrize(
    "statement",
    [
        "from labs.cli import main; main(['list'], standalone_mode=False)",
        "import chapters.ch01, chapters.ch02",
    ],
)
def test_listing_chapters_loads_nothing_heavy(statement: str) -> None:
    program = (
        f"{statement}\nimport sys\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"


def test_building_an_agent_loads_no_sdk() -> None:
    program = (
        "import sys\nfrom chapters import ch02\nfrom shared.testing import fake_kit\n"
        "kit = fake_kit(); ch02.plan(kit).build(kit)\n"
        "import chapters.ch01.openai_chat\n"
        "print([name for name in ('openai', 'anthropic', 'httpx2') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_tool_handler_touches_the_world_only_through_a_port() -> None:
    for path in ("chapters/ch01/shell.py", "chapters/ch02/file_tools.py"):
        source = (ROOT / path).read_text(encoding="utf-8")
        for module in ("os", "pathlib", "subprocess", "shutil", "openai"):
            assert f"import {module}" not in source, path
            assert f"from {module}" not in source, path
