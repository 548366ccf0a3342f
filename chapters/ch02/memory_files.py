"""The files of a workspace that exists in memory only: for tests, and for trying things out."""

from __future__ import annotations

from collections.abc import Mapping

from chapters.ch02.file_content import MAX_BYTES, decode, encode, replace_first
from chapters.ch02.file_errors import file_error
from chapters.ch02.glob_pattern import GlobPattern
from chapters.ch02.safe_path import parse_path, parse_pattern


class MemoryFiles:
    """A `WorkspaceFiles` that holds `files`: path to content. Directories come with their files."""

    def __init__(
        self, files: Mapping[str, bytes | str] | None = None, *, max_bytes: int = MAX_BYTES
    ) -> None:
        self.files = {
            "/".join(parse_path(path)): content.encode() if isinstance(content, str) else content
            for path, content in (files or {}).items()
        }
        self._max_bytes = max_bytes

    async def read_text(self, path: str) -> str:
        """The whole file, decoded as strict UTF-8, line endings untouched."""
        return decode(self._read(path), path)

    async def write_text(self, path: str, content: str) -> int:
        """Replace or create the file. Returns bytes written."""
        key = self._locate(path)
        data = encode(content)
        self.files[key] = data
        return len(data)

    async def edit_text(self, path: str, old: str, new: str) -> None:
        """Replace the first exact occurrence of `old`; every other byte stays as it was."""
        self.files[self._locate(path)] = replace_first(self._read(path), old, new, path)

    async def glob(self, pattern: str) -> list[str]:
        """Files that match, sorted, relative, with `/`."""
        search = GlobPattern(parse_pattern(pattern))
        return sorted(path for path in self.files if search.matches(tuple(path.split("/"))))

    async def resolve(self, path: str) -> str:
        """The plain spelling of `path`: there are no links in here. The root is `.`."""
        return "/".join(parse_path(path)) or "."

    def _read(self, path: str) -> bytes:
        data = self.files.get(self._locate(path))
        if data is None:
            raise file_error("file_not_found", path)
        if len(data) > self._max_bytes:
            raise file_error("too_large", path)
        return data

    def _locate(self, path: str) -> str:
        """The key for `path`, which names a file or may come to name one."""
        names = parse_path(path)
        key = "/".join(names)
        if any("/".join(names[:length]) in self.files for length in range(1, len(names))):
            raise file_error("not_a_directory", path)
        if not key or any(other.startswith(f"{key}/") for other in self.files):
            raise file_error("is_a_directory", path)
        return key
