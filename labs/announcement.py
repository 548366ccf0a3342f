"""What `workbook run` says before the first turn: which model, which permissions, which files."""

from __future__ import annotations

from urllib.parse import urlsplit

from labs.audit_place import is_inside
from labs.permission_options import Approve
from labs.provider import remarks
from labs.task import Task
from shared.screen import Screen, Style
from shared.text import visible


def announce(task: Task, screen: Screen, *, said: str) -> None:
    """Say what is about to run, before the slow import of a provider's client.

    `said` is the option that answers the questions, as it was typed.
    """
    if task.settings:
        host, source = urlsplit(task.settings.base_url).netloc, task.settings.source
        line = f"chapter {task.chapter}, model {task.settings.model} at {host}, "
        screen.folded(visible(f"{line}provider {task.settings.provider} (see {source})"))
        for remark in remarks(task.settings):
            screen.labelled("note", visible(remark))
    permissions = task.permissions
    if permissions.audit:
        screen.labelled("audit", visible(str(permissions.audit)))
    if permissions.rules:
        screen.labelled("rules", visible(str(permissions.rules)))
        if is_inside(permissions.rules.resolve(), task.workspace.resolve()):
            warning = "This file lies in the workspace: the agent can change it for the next run."
            screen.labelled("", warning)
    if permissions.approve is Approve.ALWAYS:
        screen.folded(
            f"{said}: EVERY QUESTION IS ANSWERED WITH YES. Commands run without asking, and can do "
            "whatever you can do.",
            Style.BAD,
        )
    elif permissions.approve is Approve.NEVER:
        screen.folded(f"{said}: every question is answered with no.")
