"""The real clock: the one place where an agent's time passes."""

from __future__ import annotations

import asyncio
import random
import time


class SystemClock:
    """Time and chance as this machine has them."""

    def now(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait. Can be cancelled."""
        await asyncio.sleep(seconds)

    def random(self) -> float:
        """A number from 0 up to, not including, 1."""
        return random.random()
