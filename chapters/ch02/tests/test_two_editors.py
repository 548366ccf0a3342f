"""Two programs edit one file: every edit that is reported as done is in the file."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from chapters.ch02 import atomic_write, local_write
from chapters.ch02.local_files import LocalFiles
from chapters.ch02.workspace import can_walk
from shared.errors import ToolError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not can_walk(), reason="needs names relative to an open directory"),
]

EDITOR = """
import asyncio, sys
from pathlib import Path
from chapters.ch02.local_files import LocalFiles
from shared.errors import ToolError

async def main():
    done = 0
    with LocalFiles(Path(sys.argv[1]), fsync=False) as files:
        sys.stdin.readline()  # both begin at once
        for number in range(150):
            try:
                await files.edit_text("x.txt", "END", f"{sys.argv[2]}.{number}\\nEND")
                print(f"{sys.argv[2]}.{number}")
            except ToolError as error:
                assert error.code == "conflict", error

asyncio.run(main())
"""


async def test_no_edit_that_was_reported_as_done_is_lost(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("END")
    editors = [
        subprocess.Popen(
            [sys.executable, "-c", EDITOR, str(tmp_path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for name in "ab"
    ]
    said = await asyncio.gather(
        *(asyncio.to_thread(editor.communicate, "\n", 30) for editor in editors)
    )
    done = [line for out, _ in said for line in out.split()]
    lines = (tmp_path / "x.txt").read_text().split()
    assert [editor.returncode for editor in editors] == [0, 0]
    assert done
    assert sorted(lines) == sorted([*done, "END"])


async def test_a_file_that_changes_between_reading_and_writing_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.txt"
    path.write_text("one two")

    def meanwhile(*arguments: object, **options: object) -> None:
        path.write_text("somebody else")
        atomic_write.replace_file(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(local_write, "replace_file", meanwhile)
    with LocalFiles(tmp_path, fsync=False) as files:
        with pytest.raises(ToolError) as caught:
            await files.edit_text("x.txt", "two", "three")
    assert caught.value.code == "conflict"
    assert path.read_text() == "somebody else"
    assert [each.name for each in tmp_path.iterdir()] == ["x.txt"]
