"""Lines from a terminal or a pipe, read without holding up the event loop or the end of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from typing import TextIO

CHUNK = 65_536  # bytes asked for at once; a terminal gives one line


class LineReader:
    """Reads `stream` line by line; nobody else may read from it meanwhile.

    Waiting for a line can be cancelled at any moment, so that Ctrl-C works at once. On Windows,
    whose event loop cannot wait for a terminal, a daemon thread does the waiting.
    """

    def __init__(self, stream: TextIO | None, *, in_thread: bool = os.name == "nt") -> None:
        self._stream = stream
        self._in_thread = in_thread
        self._unread = b""
        self._waiting: asyncio.Future[bytes] | None = None

    @property
    def is_terminal(self) -> bool:
        """True if a person types the lines."""
        try:
            return self._stream is not None and self._stream.isatty()
        except ValueError:  # closed
            return False

    async def read_line(self) -> str | None:
        """The next line without its end, or None if the input has ended."""
        while b"\n" not in self._unread:
            chunk = await self._read()
            if not chunk:
                rest, self._unread = self._unread, b""
                return self._decode(rest) if rest else None
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return self._decode(line)

    def discard_typed_ahead(self) -> None:
        """Forget what was typed before now: it is no answer to a question that comes now."""
        self._unread = b""
        if self._stream is not None and self.is_terminal and os.name != "nt":
            import termios

            with contextlib.suppress(termios.error):
                termios.tcflush(self._stream.fileno(), termios.TCIFLUSH)

    def _decode(self, line: bytes) -> str:
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return line.removesuffix(b"\r").decode(encoding, "replace")

    async def _read(self) -> bytes:
        if self._stream is None:
            return b""
        try:
            descriptor = self._stream.fileno()
            if self._in_thread:
                return await self._read_in_thread(descriptor)
            await _until_readable(descriptor)
            return os.read(descriptor, CHUNK)
        except (OSError, ValueError):  # the terminal is gone, or the stream was closed
            return b""

    async def _read_in_thread(self, descriptor: int) -> bytes:
        if self._waiting is None:  # a read that was cancelled goes on, and this one takes it over
            self._waiting = asyncio.get_running_loop().create_future()
            threading.Thread(
                target=_read_into, args=(self._waiting, self._stream, descriptor), daemon=True
            ).start()
        chunk = await asyncio.shield(self._waiting)
        self._waiting = None
        return chunk


async def _until_readable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[bytes] = loop.create_future()
    try:
        loop.add_reader(descriptor, _deliver, readable, b"")
    except PermissionError:  # a regular file, which is always readable
        return
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)


def _read_into(result: asyncio.Future[bytes], stream: TextIO | None, descriptor: int) -> None:
    # Not through the buffered stream: its lock, held by a thread that waits, would stop the exit.
    raw = getattr(getattr(stream, "buffer", None), "raw", None)
    try:
        chunk = raw.read(CHUNK) if raw is not None else os.read(descriptor, CHUNK)
    except (OSError, ValueError):
        chunk = b""
    with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
        result.get_loop().call_soon_threadsafe(_deliver, result, chunk or b"")


def _deliver(result: asyncio.Future[bytes], chunk: bytes) -> None:
    if not result.done():
        result.set_result(chunk)
