"""One row of safe-path vectors, read from a file; what is not understood is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.text import shorten, visible
from tests.vectors.row_forms import EXPECTATIONS, SETUP_DETAILS, SETUP_OPS, is_names

ARGUMENTS = {
    "read": {"path"},
    "write": {"path", "content"},
    "edit": {"path", "old", "new"},
    "glob": {"pattern"},
    "resolve": {"path"},
}
REQUIREMENTS = {"symlink", "hardlink", "posix", "linux", "root", "non_root"}
MOST_LEVELS = 20
KINDS = {str: "string", dict: "JSON object", list: "list"}


class UnusableFile(Exception):
    """The file is not a file of vectors; the text says where and why."""


@dataclass(frozen=True)
class Row:
    """One line of the file."""

    id: str
    op: str
    args: dict[str, Any]
    setup: list[dict[str, Any]]
    expect: dict[str, Any]
    requires: tuple[str, ...]


def load(path: Path) -> list[Row]:
    """The rows of a file. Raises UnusableFile: what is not understood must not pass unseen."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UnusableFile(f"{path}: cannot be read: {error}") from None
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                data = json.loads(line)
                if isinstance(data, dict) and isinstance(data.get("id"), str):
                    where += f", row {ascii(data['id'])[1:-1]}"
                _check_depth(data)
                rows.append(_row(data))
            except ValueError as error:
                raise UnusableFile(f"{where}: {error}") from None
            except RecursionError:  # so deep that even the JSON cannot be read
                raise UnusableFile(f"{where}: nested too deeply") from None
    if not rows:
        raise UnusableFile(f"{path}: holds no row")
    return rows


def _check_depth(data: Any, left: int = MOST_LEVELS) -> None:
    if left == 0:
        raise ValueError("nested too deeply")
    if isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            _check_depth(part, left - 1)


def _row(data: Any) -> Row:
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    if lacking := {"id", "op", "args", "setup", "expect"} - set(data):
        raise ValueError(f"the row has no {', '.join(sorted(lacking))}")
    for key, kind in {"id": str, "op": str, "args": dict, "setup": list, "expect": dict}.items():
        if not isinstance(data[key], kind):
            raise ValueError(f"{key} is no {KINDS[kind]}")
    op, args = data["op"], data["args"]
    if not data["id"].isprintable():
        raise ValueError("the id cannot be printed")
    if op not in ARGUMENTS:
        raise ValueError(f"unknown op {_shown(op)}")
    if set(args) != ARGUMENTS[op]:
        raise ValueError(f"{op} takes {sorted(ARGUMENTS[op])}, not {sorted(args)}")
    for step in data["setup"]:
        _check_step(step)
    _check_expectations(data["expect"])
    requires = data.get("requires", [])
    if not is_names(requires):
        raise ValueError("requires is no list of names")
    if unknown := set(requires) - REQUIREMENTS:
        raise ValueError(f"unknown requirement {visible(', '.join(sorted(unknown)))}")
    return Row(data["id"], op, args, data["setup"], data["expect"], tuple(requires))


def _check_step(step: Any) -> None:
    kinds = [key for key in step if key in SETUP_OPS] if isinstance(step, dict) else []
    if len(kinds) != 1:
        raise ValueError(f"unknown setup step {_shown(step)}")
    (kind,) = kinds
    form, is_right = SETUP_OPS[kind]
    if not is_right(step[kind]):
        raise ValueError(f"{kind} takes {form}, not {_shown(step[kind])}")
    for key, (form, is_right) in SETUP_DETAILS.items():
        if key in step and not is_right(step[key]):
            raise ValueError(f"{key} is {form}, not {_shown(step[key])}")


def _check_expectations(expect: dict[str, Any]) -> None:
    if unknown := set(expect) - set(EXPECTATIONS):
        raise ValueError(f"unknown expectation {visible(', '.join(sorted(unknown)))}")
    if "ok" not in expect:
        raise ValueError("expect has no ok")
    for key, value in expect.items():
        form, is_right = EXPECTATIONS[key]
        if not is_right(value):
            raise ValueError(f"expect: {key} is {form}, not {_shown(value)}")
    if expect["ok"] is False and "code" not in expect:
        raise ValueError("expect: ok is false, so a code is needed")


def _shown(value: Any) -> str:
    return shorten(ascii(value), 80)
