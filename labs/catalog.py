"""Which chapters and labs there are: found by looking, so that no list has to be kept."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from labs.packages import ROOT
from shared.errors import WorkbookError

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from shared.plan import Kit, Plan, Profile

CHAPTER = re.compile(r"ch(\d\d+)")
LAB = re.compile(r"ch(\d\d+)_\w+\.py")


class UnknownChapter(WorkbookError):
    """Somebody asked for a chapter, or a lab, that does not exist."""


def chapter_numbers(root: Path = ROOT) -> list[int]:
    """The numbers of the chapters, in order: each folder `chapters/chNN` that is a package."""
    return sorted(
        int(match[1])
        for folder in (root / "chapters").iterdir()
        if (match := CHAPTER.fullmatch(folder.name)) and (folder / "__init__.py").is_file()
    )


def chapter_package(number: int) -> ModuleType:
    """The package of a chapter. Raises UnknownChapter."""
    numbers = chapter_numbers()
    if number not in numbers:
        known = ", ".join(map(str, numbers))
        raise UnknownChapter(f"There is no chapter {number}. The chapters are: {known}.")
    return importlib.import_module(f"chapters.ch{number:02}")


def profile_of(number: int) -> Profile:
    """What a chapter is called and what it adds."""
    profile: Profile = chapter_package(number).PROFILE
    return profile


def plan_of(number: int) -> Callable[[Kit], Plan]:
    """The function that makes the plan of a chapter's agent."""
    plan: Callable[[Kit], Plan] = chapter_package(number).plan
    return plan


def lab_modules(root: Path = ROOT) -> dict[int, str]:
    """The module of each chapter's lab, `labs/chNN_name.py`, by chapter."""
    names = sorted(file.name for file in (root / "labs").glob("ch*.py"))
    return {int(match[1]): name[:-3] for name in names if (match := LAB.fullmatch(name))}


def lab_of(number: int) -> ModuleType:
    """The lab of a chapter. Raises UnknownChapter if there is none."""
    modules = lab_modules()
    if number not in modules:
        known = ", ".join(map(str, modules)) or "none"
        raise UnknownChapter(f"There is no lab for chapter {number}. There are labs for: {known}.")
    return importlib.import_module(f"labs.{modules[number]}")
