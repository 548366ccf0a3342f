"""Chapter 2: a registry and file tools."""

from __future__ import annotations

from chapters import ch01
from shared.plan import Kit, Plan

PROFILE = ch01.PROFILE.extend(
    chapter=2,
    title="A registry and file tools",
    adds=("tool_registry", "files"),
    tools=("read_file", "write_file", "edit_file", "glob"),
)


def plan(kit: Kit) -> Plan:
    """Chapter 1's agent, and four tools that know where the workspace ends."""
    from chapters.ch02.file_tools import edit_file, glob, read_file, write_file
    from chapters.ch02.registry import Registry

    # region: plan
    return (
        ch01.plan(kit)
        .with_dispatcher(Registry)
        .with_tools(
            read_file(kit.files), write_file(kit.files), edit_file(kit.files), glob(kit.files)
        )
    )
    # endregion: plan
