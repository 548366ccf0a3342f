"""A picture in a line of text, for a screen that shows none."""

from __future__ import annotations

from shared.messages import Image
from shared.text import shorten, visible


def picture(image: Image) -> str:
    """What stands for a picture: its type and its size, as in `[picture image/png, 12 KB]`."""
    size = len(image.data) * 3 // 4 - image.data[-2:].count("=")
    shown = f"{size:,} bytes" if size < 1_000 else f"{size / 1_000:,.0f} KB"
    return f"[picture {visible(shorten(image.media_type, 100))}, {shown}]"
