"""Chapter 3: permissions."""

from __future__ import annotations

from chapters import ch02
from shared.plan import Kit, Plan

PROFILE = ch02.PROFILE.extend(chapter=3, title="Permissions", adds=("permissions",))


def plan(kit: Kit) -> Plan:
    """Chapter 2's agent, and one policy where chapter 1 had one question.

    Raises ValueError without an approver or an audit: an agent that nobody can stop, or whose
    decisions leave no trace, is not built at all.
    """
    from chapters.ch03.boundary import WorkspaceBoundary
    from chapters.ch03.effect_rules import EffectRules
    from chapters.ch03.permissions import permissions
    from chapters.ch03.question import Questions
    from chapters.ch03.session import SessionAnswers

    if kit.approver is None or kit.audit is None:
        raise ValueError("chapter 3 needs somebody to ask and an audit to write to")
    # region: plan
    session = SessionAnswers(kit.files)
    layer = permissions(
        (WorkspaceBoundary(kit.files), EffectRules(), *kit.participants, session),
        Questions(kit.approver, kit.files, session),
        kit.audit,
    )
    return ch02.plan(kit).with_tool_layer(layer, replacing="shell_question")
    # endregion: plan
