"""Making sure that `shared` and `chapters` are this workbook's own, and not somebody else's.

`shared` is a common name. If another distribution has put a package of that name into
site-packages, it is found before an editable installation of the workbook.
"""

from __future__ import annotations

import importlib
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OURS = ("shared", "chapters", "labs")


def foreign_packages(root: Path = ROOT) -> dict[str, str]:
    """The packages that should be ours and are not, each with the place it was loaded from."""
    foreign = {}
    for name in OURS:
        place = location(name)
        if place != str(root / name):
            foreign[name] = place
    return foreign


def location(name: str) -> str:
    """The folder or file a package is loaded from; empty if there is none."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return ""
    places = [*getattr(module, "__path__", ()), module.__file__ or ""]
    return str(Path(places[0]).resolve()) if places[0] else ""


def explain(foreign: dict[str, str], root: Path = ROOT) -> str:
    """What is wrong and what to do about it."""
    name, place = next(iter(foreign.items()))
    found = f"the one in {place} was loaded" if place else "none could be loaded"
    return (
        f"The package `{name}` must come from {root}, but {found}.\n"
        "Another project has a package of the same name. Use a virtual environment for the "
        "workbook alone:\n"
        f"  cd {root}\n"
        "  python -m venv .venv\n"
        f"  {activation()}\n"
        "  pip install -e ."
    )


def activation() -> str:
    """The line that activates a virtual environment on this platform."""
    return r".venv\Scripts\activate" if os.name == "nt" else "source .venv/bin/activate"
