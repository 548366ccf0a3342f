"""What a command has printed so far: bytes come in, a limited amount of text is kept."""

from __future__ import annotations

import codecs
import threading
import time


# region: output
class CommandOutput:
    """The first `limit` characters of a stream of UTF-8 bytes; what follows is thrown away.

    A byte that is not UTF-8 becomes U+FFFD. A character whose bytes arrive in two chunks stays
    whole. One thread feeds while another one closes.
    """

    def __init__(self, limit: int) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._room = limit
        self._parts: list[str] = []
        self._closed = False
        self._lock = threading.Lock()
        self.truncated = False
        self.fed_at = time.monotonic()

    def feed(self, chunk: bytes) -> None:
        """Take in the next bytes."""
        self.fed_at = time.monotonic()
        with self._lock:
            if not (self._closed or self.truncated):
                self._keep(self._decoder.decode(chunk))

    def close(self) -> str:
        """The text. From now on nothing is added; the last character may have stayed half."""
        with self._lock:
            if not (self._closed or self.truncated):
                self._keep(self._decoder.decode(b"", final=True))
            self._closed = True
            return "".join(self._parts)

    def _keep(self, text: str) -> None:
        self.truncated = len(text) > self._room
        if kept := text[: self._room]:
            self._parts.append(kept)
            self._room -= len(kept)


# endregion: output
