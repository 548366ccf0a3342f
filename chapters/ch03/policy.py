"""The policy: every participant is heard, and the strictest of them counts."""

from __future__ import annotations

from collections.abc import Sequence

from shared.decision import Behaviour, Decision


# region: combine
def combine(decisions: Sequence[Decision]) -> Decision:
    """The strictest of all decisions; `allow` from `default` if nobody has anything to say.

    deny > ask > allow > pass. Of two that are equally strict the first one gives the reason. There
    is one way in which a question goes away: a person has said yes beforehand. It stays if a person
    has also said, in the rules file, that they want to be asked.
    """
    said = {
        behaviour: [decision for decision in decisions if decision.behaviour == behaviour]
        for behaviour in Behaviour
    }
    wish = [decision for decision in said[Behaviour.ASK] if decision.by_person]
    yes = [decision for decision in said[Behaviour.ALLOW] if decision.by_person]
    question = [] if yes else said[Behaviour.ASK]
    for strictest in (said[Behaviour.DENY], wish, question, yes, said[Behaviour.ALLOW]):
        if strictest:
            return strictest[0]
    return Decision(Behaviour.ALLOW, "nobody objected", "default")


# endregion: combine
