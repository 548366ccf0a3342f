"""Chapter 5: streaming, and arguments nobody should trust."""

from __future__ import annotations

from chapters import ch04
from shared.plan import Kit, Plan

PROFILE = ch04.PROFILE.extend(
    chapter=5, title="Streaming, and arguments nobody should trust", adds=("streaming",)
)


def plan(kit: Kit) -> Plan:
    """Chapter 4's agent, and a request that failed is sent again where that can help.

    Raises ValueError without a clock: an agent that cannot wait would ask again at once.
    """
    from chapters.ch05.retry import retrying

    if kit.clock is None:
        raise ValueError("chapter 5 needs a clock: it waits before it asks again")
    # region: plan
    return ch04.plan(kit).with_model_layer(retrying(kit.clock))
    # endregion: plan
