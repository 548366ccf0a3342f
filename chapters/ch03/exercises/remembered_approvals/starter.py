"""`RememberedApprovals`: an "always exactly this" that is still known after a restart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from chapters import ch03
from chapters.ch03.arguments import fields
from chapters.ch03.boundary import WorkspaceBoundary
from chapters.ch03.effect_rules import EffectRules
from chapters.ch03.permissions import permissions
from chapters.ch03.question import Questions
from chapters.ch03.session import Scope, SessionAnswers
from shared.decision import Behaviour, Decision
from shared.plan import Kit, Plan
from shared.tools import PreparedCall


class BrokenFile(Exception):
    """A file of approvals from which nothing can be taken."""


class RememberedApprovals(SessionAnswers):
    """The answers of this session, and the calls that a person has approved for good before.

    The file at `path` belongs to one workspace and lies outside of it. `warn` tells the person
    what could not be read or kept.
    """

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        super().__init__()
        self._path = path
        self._warn = warn
        self._usable = True
        self._approved: frozenset[str] = frozenset()
        try:
            self._approved = load(path)
        except BrokenFile:
            self._usable = False
            warn(
                f"{path} cannot be read, so no earlier approval counts, and no new one is kept. "
                "Repair the file or delete it, and start again."
            )

    async def decide(self, prepared: PreparedCall) -> Decision:
        """What this session says; if that is nothing, allow what was approved in another one."""
        # TODO: Let the session speak first. Say yes only to a call whose key is known.
        raise NotImplementedError("your turn")

    def allow(self, prepared: PreparedCall, scope: Scope) -> None:
        """Remember a yes as the session does, and keep the exact call if it was meant to last."""
        # TODO: Keep nothing but what `e` was typed for; a file that cannot be written warns.
        raise NotImplementedError("your turn")


def key(prepared: PreparedCall) -> str:
    """What stands for a call in the file: a hash of the tool's name and all of its arguments."""
    # TODO: Hash one JSON text of name and `fields`, in which the order is always the same.
    raise NotImplementedError("your turn")


def load(path: Path) -> frozenset[str]:
    """The keys in the file: `{"approved": [key, ...]}`; none if there is no such file.

    Raises BrokenFile if there is one and anything in it is not as it should be.
    """
    # TODO: A missing file is empty. Everything else that is not exactly this shape is broken.
    raise NotImplementedError("your turn")


def save(path: Path, approved: frozenset[str]) -> None:
    """Replace the file as a whole. Raises OSError; then the old one is still there."""
    # TODO: Write a file beside it, then put it in the place of the old one.
    raise NotImplementedError("your turn")


def plan(kit: Kit, *, approvals: SessionAnswers) -> Plan:
    """Chapter 3's agent, with these answers in the place of those that end with the session."""
    if kit.approver is None or kit.audit is None:
        raise ValueError("approvals need somebody to ask and an audit to write to")
    layer = permissions(
        (WorkspaceBoundary(kit.files), EffectRules(), *kit.participants, approvals),
        Questions(kit.approver, kit.files, approvals),
        kit.audit,
    )
    return ch03.plan(kit).with_tool_layer(layer, replacing="permissions")
