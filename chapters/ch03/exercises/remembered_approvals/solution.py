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
        # solution: Let the session speak first. Say yes only to a call whose key is known.
        decision = await super().decide(prepared)
        if decision.behaviour is Behaviour.PASS and key(prepared) in self._approved:
            why = "the user said yes to exactly this call in an earlier session"
            return Decision(Behaviour.ALLOW, why, "remembered", by_person=True)
        return decision
        # end solution

    def allow(self, prepared: PreparedCall, scope: Scope) -> None:
        """Remember a yes as the session does, and keep the exact call if it was meant to last."""
        # solution: Keep nothing but what `e` was typed for; a file that cannot be written warns.
        super().allow(prepared, scope)
        if scope is not Scope.PATTERN or not self._usable:
            return
        approved = self._approved | {key(prepared)}
        try:
            save(self._path, approved)
        except OSError as error:
            self._warn(f"{self._path}: {error.strerror}. This approval ends with the session.")
        else:
            self._approved = approved
        # end solution


def key(prepared: PreparedCall) -> str:
    """What stands for a call in the file: a hash of the tool's name and all of its arguments."""
    # solution: Hash one JSON text of name and `fields`, in which the order is always the same.
    exact = json.dumps([prepared.tool.name, fields(prepared.arguments)], sort_keys=True)
    return hashlib.sha256(exact.encode()).hexdigest()
    # end solution


def load(path: Path) -> frozenset[str]:
    """The keys in the file: `{"approved": [key, ...]}`; none if there is no such file.

    Raises BrokenFile if there is one and anything in it is not as it should be.
    """
    # solution: A missing file is empty. Everything else that is not exactly this shape is broken.
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValueError, RecursionError) as error:  # not UTF-8 is a ValueError as well
        raise BrokenFile from error
    match data:
        case {"approved": list(keys), **others} if not others:
            if all(isinstance(each, str) for each in keys):
                return frozenset(keys)
    raise BrokenFile
    # end solution


def save(path: Path, approved: frozenset[str]) -> None:
    """Replace the file as a whole. Raises OSError; then the old one is still there."""
    # solution: Write a file beside it, then put it in the place of the old one.
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(json.dumps({"approved": sorted(approved)}, indent=1), encoding="utf-8")
    draft.replace(path)
    # end solution


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
