"""Chapter 4: one tool, every provider."""

from __future__ import annotations

from chapters import ch03
from shared.plan import Kit, Plan

PROFILE = ch03.PROFILE.extend(chapter=4, title="One tool, every provider", adds=("providers",))


# region: plan
def plan(kit: Kit) -> Plan:
    """Chapter 3's agent, unchanged: what is new stands behind `kit.model`."""
    return ch03.plan(kit)


# endregion: plan
