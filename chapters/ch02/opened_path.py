"""Asking the system where an open file really is, after it has been opened."""

from __future__ import annotations

import sys
from pathlib import Path

if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    def path_of(descriptor: int) -> Path:
        """The path of the open file, without links."""
        ask = ctypes.windll.kernel32.GetFinalPathNameByHandleW
        ask.argtypes = [wintypes.HANDLE, wintypes.LPWSTR, wintypes.DWORD, wintypes.DWORD]
        answer = ctypes.create_unicode_buffer(32_768)
        if not ask(msvcrt.get_osfhandle(descriptor), answer, len(answer), 0):
            raise ctypes.WinError()
        path = answer.value.removeprefix("\\\\?\\")
        return Path("\\\\" + path[4:] if path.startswith("UNC\\") else path)

elif sys.platform == "darwin":
    import fcntl
    import os

    def path_of(descriptor: int) -> Path:
        """The path of the open file, without links."""
        return Path(
            os.fsdecode(fcntl.fcntl(descriptor, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        )

else:

    def path_of(descriptor: int) -> Path:
        """The path of the open file, without links."""
        return Path(f"/proc/self/fd/{descriptor}").readlink()
