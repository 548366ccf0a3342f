"""The question shown to a person, and what the answer means."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import dataclass

from chapters.ch03.preview import on_one_line, preview
from chapters.ch03.session import Scope, SessionAnswers, pattern
from shared.decision import Behaviour, Decision
from shared.ports import Approver, WorkspaceFiles
from shared.text import shorten, visible
from shared.tools import PreparedCall

logger = logging.getLogger("workbook")

PATIENCE = 600.0  # seconds a question waits for its answer
MAX_REASON = 2_000  # characters of a person's reason that the model reads

YES = {
    "y": Scope.ONCE,
    "yes": Scope.ONCE,
    "t": Scope.TOOL,
    "tool": Scope.TOOL,
    "e": Scope.PATTERN,
    "exactly": Scope.PATTERN,
}


# region: answer
@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said: a yes and how far it reaches, or a no and perhaps a reason."""

    scope: Scope | None
    reason: str = ""


def understand(typed: object) -> Answer | None:
    """The meaning of what was typed; None if it is no text at all.

    Everything that is not clearly a yes is a no, and whatever a no is said with is its reason.
    """
    if not isinstance(typed, str):
        return None
    text = typed.strip()
    scope = YES.get(text.lower())
    if scope is not None:
        return Answer(scope)
    word, _, rest = text.partition(" ")
    if word.lower().rstrip(":,") in {"n", "no"}:
        return Answer(None, rest.strip())
    return Answer(None, text)


# endregion: answer


# region: questions
class Questions:
    """Asks one question at a time. No answer, for whatever reason, is a no."""

    def __init__(
        self,
        approver: Approver,
        files: WorkspaceFiles,
        session: SessionAnswers,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._approver = approver
        self._files = files
        self._session = session
        self._patience = patience
        self._one_at_a_time = asyncio.Lock()

    async def settle(self, prepared: PreparedCall, asking: Decision) -> Decision:
        """Ask, and turn the answer into a decision that allows or denies."""
        async with self._one_at_a_time:
            try:
                remembered = await self._remembered(prepared, asking)
                if remembered is not None:
                    return remembered
                question = await self._question(prepared, asking)
                async with asyncio.timeout(self._patience):
                    answer = understand(await self._approver.ask(question))
            except Exception as error:
                logger.info("no answer about %s", prepared.tool.name, exc_info=True)
                return Decision(Behaviour.DENY, no_answer(error), "user")
            if answer is None:
                logger.error("the approver's answer about %s is no text", prepared.tool.name)
                return Decision(Behaviour.DENY, "the answer could not be read", "user")
            return self._decided(prepared, answer, lasting=not asking.by_person)

    async def _remembered(self, prepared: PreparedCall, asking: Decision) -> Decision | None:
        """What the answer to the question before this one says about this call too."""
        said = await self._session.decide(prepared)
        if said.behaviour is Behaviour.ALLOW and asking.by_person:
            return None  # the rules file says: ask, every time
        return None if said.behaviour is Behaviour.PASS else said

    def _decided(self, prepared: PreparedCall, answer: Answer, *, lasting: bool) -> Decision:
        if answer.scope is None:
            self._session.deny(prepared)
            why = "the user said no"
            if answer.reason:
                why += f" and typed {quoted(answer.reason)}"
            return Decision(Behaviour.DENY, why, "user", by_person=True)
        scope = answer.scope if lasting else Scope.ONCE
        self._session.allow(prepared, scope)
        return Decision(Behaviour.ALLOW, f"the user said yes ({scope})", "user", by_person=True)

    async def _question(self, prepared: PreparedCall, asking: Decision) -> str:
        tool = prepared.tool
        heading = f"May the agent use {tool.name} ({tool.effect})? {asking.reason.rstrip('.')}."
        always = (
            f"  e  yes, always: {on_one_line(pattern(prepared))}\n"
            f"  t  yes, always: every {tool.name} of this session, whatever its arguments\n"
        )
        return (
            f"{on_one_line(heading)}\n"
            f"{visible(await preview(prepared, self._files))}\n"
            "  y  yes, this once\n"
            f"{'' if asking.by_person else always}"
            "  n  no; what you type after it goes to the model\n"
            f"{'[y/N] ' if asking.by_person else '[y/e/t/N] '}"
        )


def quoted(reason: str) -> str:
    """A person's words as one JSON string: nothing in them can end it and pass for more."""
    return visible(json.dumps(shorten(reason, MAX_REASON), ensure_ascii=False))


def no_answer(error: Exception) -> str:
    """Why there is no answer, in words for the model."""
    if isinstance(error, TimeoutError):
        return "nobody answered in time"
    if isinstance(error, EOFError):
        return "the input ended before an answer came"
    return "nobody could be asked"


# endregion: questions
