"""Two ways to keep a path inside a directory that do not hold. The chapter breaks them."""

from __future__ import annotations

import os
from pathlib import Path

from chapters.ch02.file_errors import file_error


# region: joined
def read_joined(root: Path, path: str) -> str:
    """Compares text: `../workspace-2/secret.txt` begins like the path of the workspace."""
    target = os.path.normpath(root / path)
    if not target.startswith(str(root)):
        raise file_error("path_escape", path)
    return Path(target).read_text(encoding="utf-8")


# endregion: joined


# region: resolved
def read_resolved(root: Path, path: str) -> str:
    """Resolves, compares, opens: between the second and the third step the path can change."""
    target = (root / path).resolve()
    if not target.is_relative_to(root.resolve()):
        raise file_error("path_escape", path)
    return (root / path).read_text(encoding="utf-8")


# endregion: resolved
