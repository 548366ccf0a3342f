"""The permission layer: all participants are heard, the decision is recorded, then it counts."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Sequence

from chapters.ch03.audit import entry
from chapters.ch03.policy import combine
from chapters.ch03.question import Questions
from shared.decision import Behaviour, Decision
from shared.errors import ToolError
from shared.ports import Audit, Participant
from shared.tools import Invoke, PreparedCall, Returned, ToolLayer

logger = logging.getLogger("workbook")

NAME = "permissions"
STOPPED = Decision(Behaviour.DENY, "the run was stopped before there was a decision", "interrupt")


# region: layer
def permissions(
    participants: Sequence[Participant], questions: Questions, audit: Audit
) -> ToolLayer:
    """A layer that lets a call through only if the policy, and if need be a person, says so."""

    def wrap(invoke: Invoke) -> Invoke:
        # region: call
        async def decide_first(prepared: PreparedCall) -> Returned:
            try:
                decision, who = await decide(participants, questions, prepared)
            except BaseException:  # Ctrl-C, most of all: it goes on, but not without a trace
                with contextlib.suppress(ToolError):
                    record(audit, prepared, STOPPED, "nobody")
                raise
            record(audit, prepared, decision, who)
            if decision.behaviour is not Behaviour.ALLOW:
                raise ToolError("permission_denied", for_the_model(decision))
            return await invoke(prepared)

        # endregion: call
        return decide_first

    return ToolLayer(NAME, wrap)


async def decide(
    participants: Sequence[Participant], questions: Questions, prepared: PreparedCall
) -> tuple[Decision, str]:
    """The decision about one call, and who made it: the policy, a person, or nobody."""
    decision = combine([await hear(each, prepared) for each in participants])
    if decision.behaviour is not Behaviour.ASK:
        return decision, "policy"
    decision = await questions.settle(prepared, decision)
    return decision, "person" if decision.by_person else "nobody"


async def hear(participant: Participant, prepared: PreparedCall) -> Decision:
    """What a participant says. One that fails, or says something else, denies."""
    name = type(participant).__name__
    try:
        name = participant.name
        decision = await participant.decide(prepared)
    except Exception:
        logger.exception("permission rule %r failed", name)
        return Decision(Behaviour.DENY, "this rule failed, so nothing is allowed", name)
    if not isinstance(decision, Decision) or not isinstance(decision.behaviour, Behaviour):
        logger.error("permission rule %r gave no decision but %r", name, type(decision).__name__)
        return Decision(Behaviour.DENY, "this rule gave no decision, so nothing is allowed", name)
    return decision


# region: record
def record(audit: Audit, prepared: PreparedCall, decision: Decision, who: str) -> None:
    """Write the decision down. What cannot be written down does not happen."""
    try:
        audit.record(entry(prepared, decision, who))
    except Exception:
        logger.exception("the audit could not be written")
        raise ToolError(
            "permission_evaluation_error",
            "The decision could not be recorded, so nothing was run. Tell the user.",
        ) from None


# endregion: record


def for_the_model(decision: Decision) -> str:
    """A refusal that says why and what to do next."""
    return (
        f"Denied by {decision.source}: {decision.reason.rstrip('.')}. "
        "Do not send the same call again: find another way, or ask the user what to do."
    )


# endregion: layer
