"""Scripted providers on this machine, and a model that goes from one to the next."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from chapters.ch04.adapters import Access, open_model
from chapters.ch04.known_servers import KNOWN
from shared.events import Emit
from shared.messages import AssistantMessage, Request
from shared.ports import Model
from shared.provider_server import (
    Answer,
    ProviderServer,
    Received,
    Script,
    completion,
    wire_call,
)
from shared.screen import Screen
from shared.scripted import ScriptError

CHAT, RESPONSES, ANTHROPIC, GEMINI = "openai", "openai-responses", "anthropic", "gemini"
ROUTE = (CHAT, RESPONSES, ANTHROPIC, GEMINI, CHAT, ANTHROPIC)

IDS = (  # of the calls, as they come; Gemini gives its calls none
    "functions.read_file:0",
    "functions.read_file:1",
    "call_1|fc_2",
    "toolu_3",
    "functions.glob:4",
)
THOUGHT, SIGNATURE = "Is there a file of notes, then?", "c2lnbmVkIGJ5IGFudGhyb3BpYw=="
CODE_WORD = re.compile(r"\b[a-z]+-\d{4}\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of the tour: which provider got it, and its JSON."""

    provider: str
    body: Any


class Tour:
    """A model whose requests go to one provider after the other, each to the next of `route`.

    Raises ScriptError for a request beyond the end.
    """

    def __init__(
        self,
        route: Sequence[str],
        models: Mapping[str, Model],
        servers: Mapping[str, ProviderServer],
        screen: Screen,
    ) -> None:
        self.route = route
        self._models = models
        self._servers = servers
        self._screen = screen
        self.asked: list[Asked] = []

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        """What the provider replies whose turn it is."""
        if len(self.asked) >= len(self.route):
            raise ScriptError("the tour is over, and the model is asked again")
        name = self.route[len(self.asked)]
        self._screen.labelled("asked", KNOWN[name].about.partition(",")[0])
        received = self._servers[name].requests
        before = len(received)
        try:
            return await self._models[name].reply(request, emit)
        finally:
            self.asked += [Asked(name, each.body) for each in received[before:]]


@asynccontextmanager
async def open_tour(route: Sequence[str], screen: Screen) -> AsyncIterator[Tour]:
    """The servers of `route`, each with the provider's own client before it."""
    async with AsyncExitStack() as stack:
        servers, models = {}, {}
        for name in dict.fromkeys(route):
            server = servers[name] = stack.enter_context(ProviderServer(*ANSWERS[name]))
            access = Access(server.base_url.removesuffix("/v1"), "a-key", "a-model")
            models[name] = await stack.enter_async_context(open_model(KNOWN[name], access))
        yield Tour(route, models, servers, screen)


# What the servers say


def word_in(received: Received) -> str:
    """The code word, if it is anywhere in the request: a server knows nothing else."""
    found = CODE_WORD.search(json.dumps(received.body))
    return found.group() if found else "not in what I was sent"


TOKENS = {"input_tokens": 11, "output_tokens": 7}  # of each reply, as `completion` has it


def response(*output: Mapping[str, Any]) -> Answer:
    """A reply of OpenAI Responses."""
    said = {"id": "resp_1", "object": "response", "status": "completed", "usage": TOKENS}
    return Answer({**said, "output": output})


def message(stop: str, *content: Mapping[str, Any]) -> Answer:
    """A reply of Anthropic Messages."""
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": "a-model"}
    ended = {"stop_reason": stop, "stop_sequence": None, "usage": TOKENS}
    return Answer({**said, "content": content, **ended})


def candidate(*parts: Mapping[str, Any]) -> Answer:
    """A reply of Gemini."""
    content = {"role": "model", "parts": parts}
    usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
    candidates = [{"content": content, "finishReason": "STOP", "index": 0}]
    return Answer({"candidates": candidates, "usageMetadata": usage})


def final(received: Received) -> Answer:
    """The last reply of the tour."""
    return message("end_turn", {"type": "text", "text": f"The code word is {word_in(received)}."})


ANSWERS: Mapping[str, Sequence[Script]] = {
    CHAT: (
        Answer(
            completion(
                wire_call(IDS[0], "read_file", {"path": "word.txt"}),
                wire_call(IDS[1], "read_file", {"path": "gone.txt"}),
            )
        ),
        Answer(completion(wire_call(IDS[4], "glob", {"pattern": "**/*.md"}))),
    ),
    RESPONSES: (
        response(
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": IDS[2],
                "name": "glob",
                "arguments": '{"pattern": "*.txt"}',
                "status": "completed",
            },
        ),
    ),
    ANTHROPIC: (
        message(
            "tool_use",
            {"type": "thinking", "thinking": THOUGHT, "signature": SIGNATURE},
            {"type": "tool_use", "id": IDS[3], "name": "glob", "input": {"pattern": "n*"}},
        ),
        final,
    ),
    GEMINI: (
        candidate(
            {
                "functionCall": {"name": "glob", "args": {"pattern": "**/*"}},
                "thoughtSignature": "Z2VtaW5p",
            }
        ),
    ),
}
