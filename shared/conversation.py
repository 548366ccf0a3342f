"""A plan, put together: the thing a program can ask."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from shared.events import Emit, fan_out
from shared.history import History
from shared.messages import AssistantMessage, Request, UserMessage
from shared.ports import Model, ModelLayer
from shared.sources import AllSources, Inbox
from shared.tools import wrap_layers

if TYPE_CHECKING:
    from shared.plan import Plan

DEFAULT_MAX_TURNS = 20


class Conversation:
    """One history and everything needed to go on with it."""

    def __init__(self, plan: Plan, model: Model) -> None:
        self.history = History()
        self._loop = plan.loop
        self._tools = plan.dispatcher(plan.tools, wrap_layers(plan.tool_layers))
        self._model = _wrap_model(plan, model)
        self._inbox = Inbox()
        self._arrivals = AllSources((self._inbox, *plan.sources))
        self._emit = fan_out(plan.listeners)

    async def ask(self, prompt: str, *, max_turns: int = DEFAULT_MAX_TURNS) -> AssistantMessage:
        """Say `prompt` and return the reply that asks for nothing more.

        Raises RunError if there is none; the history is whole in any case, so that the next
        question can be asked.
        """
        if not prompt.strip():
            raise ValueError("the prompt is empty")
        self._inbox.put(UserMessage(prompt))
        return await self._loop(
            self._model,
            self._tools,
            self.history,
            arrivals=self._arrivals,
            emit=self._emit,
            max_turns=max_turns,
        )


class _WithSystemPrompt:
    """Adds the system prompt to each request: what the model sees, not what the history holds."""

    def __init__(self, model: Model, system: str) -> None:
        self._model = model
        self._system = system

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        return await self._model.reply(replace(request, system=self._system), emit)


def _wrap_model(plan: Plan, model: Model) -> Model:
    layers = plan.model_layers
    if plan.system:
        system = plan.system
        layers = (
            ModelLayer("system_prompt", lambda inner: _WithSystemPrompt(inner, system)),
            *layers,
        )
    for layer in layers:
        model = layer.wrap(model)
    return model
