"""The two policies of validation in a run of the whole agent: what runs, and what is kept."""

from __future__ import annotations

from typing import Any

import pytest

from chapters import ch05
from chapters.ch04.wire import encode, to_body
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.tests.bodies import CHAT
from chapters.ch05.validation import COERCING, STRICT, ValidationPolicy, json_schema_tool
from shared.messages import AssistantMessage, ToolSpec
from shared.scripted import call, says
from shared.testing import Recording, run_script
from shared.tools import Effect

pytestmark = pytest.mark.anyio

SPEC = ToolSpec(
    "list_words",
    "List the newest words.",
    {
        "type": "object",
        "properties": {"limit": {"type": "integer"}},
        "required": ["limit"],
        "additionalProperties": False,
    },
)


async def ask_for_ten(policy: ValidationPolicy) -> tuple[Recording, list[dict[str, Any]]]:
    """A run whose model writes a number as text, and what the handler got."""
    received: list[dict[str, Any]] = []

    async def handler(arguments: dict[str, Any]) -> str:
        received.append(arguments)
        return "amber"

    tool = json_schema_tool(SPEC, Effect.READ, handler, policy)
    replies = [says(call("list_words", limit="10")), says("Done.")]
    run = await run_script(lambda kit: ch05.plan(kit).with_tools(tool), replies)
    assert run.error is None
    return run, received


async def test_in_the_history_the_call_stays_as_the_model_wrote_it() -> None:
    run, received = await ask_for_ten(COERCING)
    assert received == [{"limit": 10}]
    assert [result.text for result in run.results] == ["amber"]

    written = [
        [each.arguments for message in messages for each in calls_of(message)]
        for messages in (run.messages, run.model.requests[1].messages)
    ]
    assert written == [['{"limit": "10"}']] * 2
    sent = encode(to_body(CHAT_STREAM.wire, run.model.requests[1], CHAT))
    assert rb'"arguments":"{\"limit\": \"10\"}"' in sent


async def test_a_strict_tool_does_not_run_and_the_model_reads_why() -> None:
    run, received = await ask_for_ten(STRICT)
    assert received == []
    (result,) = run.results
    assert result.code == "invalid_arguments"
    assert all(part in result.text for part in ("limit", "integer", '"10"'))


def calls_of(message: object) -> Any:
    """The calls of a message that may have some."""
    return message.calls if isinstance(message, AssistantMessage) else ()
