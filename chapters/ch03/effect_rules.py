"""The default policy: what a tool can do decides whether somebody is asked, not its name."""

from __future__ import annotations

from shared.decision import Behaviour, Decision
from shared.tools import Effect, PreparedCall

# region: effects
SAYS = {
    Effect.READ: Behaviour.PASS,
    Effect.WRITE: Behaviour.ASK,
    Effect.EXECUTE: Behaviour.ASK,
    Effect.EXTERNAL: Behaviour.ASK,
}


class EffectRules:
    """Reading passes; writing, executing and reaching outside ask."""

    name = "effect"

    async def decide(self, prepared: PreparedCall) -> Decision:
        """What the effect of the tool says; an effect nobody has thought about asks."""
        effect = prepared.tool.effect
        return Decision(SAYS.get(effect, Behaviour.ASK), f"Its effect is {effect}", self.name)


# endregion: effects
