"""Chapter 1: the loop and a shell."""

from __future__ import annotations

from shared.plan import Kit, Plan, Profile

PROFILE = Profile.first(title="The loop and a shell", adds=("loop", "shell"), tools=("shell",))


def plan(kit: Kit) -> Plan:
    """The whole agent of chapter 1: the loop, one tool, and a question before the tool runs."""
    # Imported here, not above, so that `workbook list` can read PROFILE without loading the rest.
    from chapters.ch01.dispatch import OneTool
    from chapters.ch01.loop import run
    from chapters.ch01.question import shell_question
    from chapters.ch01.shell import shell

    # region: plan
    return (
        Plan(loop=run, dispatcher=OneTool)
        .with_tools(shell(kit.commands))
        .with_tool_layer(shell_question(kit.approver))
    )
    # endregion: plan
