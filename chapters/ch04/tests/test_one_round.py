"""One round trip without a loop: what it says, what it runs, and where it stops."""

from __future__ import annotations

import pytest

from chapters.ch01.chat_wire import to_body
from chapters.ch02.file_tools import read_file
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch04.adapters import Access, open_model
from chapters.ch04.downloads import list_download_files
from chapters.ch04.known_servers import KNOWN
from chapters.ch04.one_round import (
    OneRound,
    answer_with_one_tool_round,
    ask,
    calls_to_run,
    define,
    run_call,
)
from chapters.ch04.wire import Json
from shared.errors import (
    EmptyReply,
    PairingError,
    ReplyCutOff,
    ReplyIncomplete,
    ReplyRefused,
    RunError,
)
from shared.events import Emit
from shared.history import History
from shared.messages import (
    AssistantMessage,
    Request,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from shared.provider_server import Answer, ProviderServer, completion, wire_call
from shared.scripted import Reply, ScriptedModel, call, last_result, says
from shared.testing import NoFiles
from shared.tools import Effect, Tool

pytestmark = pytest.mark.anyio

QUESTION = "which PDFs are in my downloads folder?"
DOWNLOADS = MemoryFiles({"tickets.pdf": "", "Invoice.PDF": "", "photo.jpg": ""})
LIST_PDFS = call("list_download_files", extension=".pdf")


async def one_round(*replies: Reply, tools: tuple[Tool, ...] | None = None) -> OneRound:
    """The outcome, against a script that has to be used up."""
    with ScriptedModel(replies) as model:
        return await answer_with_one_tool_round(
            model, (list_download_files(DOWNLOADS),) if tools is None else tools, QUESTION
        )


def kinds(outcome: OneRound) -> list[type[object]]:
    return [type(message) for message in outcome.messages]


# The round


async def test_a_round_is_four_messages() -> None:
    outcome = await one_round(
        says(LIST_PDFS), lambda request: says(f"These two:\n{last_result(request).text}")
    )
    assert outcome.messages == (
        UserMessage(QUESTION),
        AssistantMessage(
            (ToolCall("call_1", "list_download_files", '{"extension": ".pdf"}'),),
            StopReason.TOOL_USE,
        ),
        ToolResult("call_1", "list_download_files", "Invoice.PDF\ntickets.pdf"),
        AssistantMessage((Text("These two:\nInvoice.PDF\ntickets.pdf"),)),
    )
    assert outcome.reply is outcome.messages[-1]
    assert not outcome.asks_again


async def test_both_requests_offer_the_tools() -> None:
    tool = list_download_files(DOWNLOADS)
    model = ScriptedModel([says(LIST_PDFS), says("two")])
    await answer_with_one_tool_round(model, [tool], QUESTION)
    assert [request.tools for request in model.requests] == [(tool.spec,), (tool.spec,)]
    assert [len(request.messages) for request in model.requests] == [1, 3]


async def test_a_reply_without_calls_is_the_answer() -> None:
    outcome = await one_round(says("I do not know."))
    assert kinds(outcome) == [UserMessage, AssistantMessage]
    assert outcome.reply.text == "I do not know."
    assert not outcome.asks_again


async def test_a_model_without_tools_can_be_asked_too() -> None:
    outcome = await one_round(says("I cannot look."), tools=())
    assert outcome.reply.text == "I cannot look."


async def test_several_calls_of_one_reply_are_one_round() -> None:
    outcome = await one_round(
        says(call("list_download_files", id="b"), call("list_download_files", id="a")),
        says("done"),
    )
    results = [message for message in outcome.messages if isinstance(message, ToolResult)]
    assert [result.call_id for result in results] == ["b", "a"]


def chat_call() -> Json:
    return completion(wire_call("c1", "list_download_files", {"extension": ".pdf"}))


def anthropic_reply(stop: str, *content: Json) -> Json:
    return {"id": "m", "type": "message", "content": content, "stop_reason": stop}


@pytest.mark.parametrize(
    ("name", "asks", "answers"),
    [
        ("openai", chat_call(), completion(text="two")),
        (
            "anthropic",
            anthropic_reply(
                "tool_use",
                {
                    "type": "tool_use",
                    "id": "c1",
                    "name": "list_download_files",
                    "input": {"extension": ".pdf"},
                },
            ),
            anthropic_reply("end_turn", {"type": "text", "text": "two"}),
        ),
    ],
)
async def test_a_round_is_the_same_with_every_provider(
    name: str, asks: Json, answers: Json
) -> None:
    with ProviderServer(Answer(asks), Answer(answers)) as server:
        access = Access(server.base_url, "a-key", "a-model")
        async with open_model(KNOWN[name], access) as model:
            outcome = await answer_with_one_tool_round(
                model, [list_download_files(DOWNLOADS)], QUESTION
            )
    assert outcome.messages[2] == ToolResult(
        "c1", "list_download_files", "Invoice.PDF\ntickets.pdf"
    )
    assert outcome.reply.text == "two"
    assert "Invoice.PDF" in repr(server.requests[1].body)


# The end


async def test_a_second_request_for_tools_is_returned_and_not_run() -> None:
    """What it looks like: a last message that holds a call, and no result behind it."""
    ran: list[str] = []

    async def handler(arguments: object) -> str:
        ran.append("ran")
        return "done"

    definition = list_download_files(DOWNLOADS)
    tool = Tool(definition.spec, Effect.READ, definition.validate, handler)
    outcome = await one_round(
        says(LIST_PDFS), says("One more look.", call("list_download_files")), tools=(tool,)
    )
    assert ran == ["ran"]
    assert outcome.asks_again
    assert kinds(outcome) == [UserMessage, AssistantMessage, ToolResult, AssistantMessage]
    assert outcome.reply.text == "One more look."
    assert outcome.reply.calls == (ToolCall("call_2", "list_download_files", "{}"),)
    wire = to_body(Request(outcome.messages), "a-model")["messages"][-1]
    assert [each["function"]["name"] for each in wire["tool_calls"]] == ["list_download_files"]


async def test_nobody_can_go_on_and_forget_the_open_call() -> None:
    outcome = await one_round(says(LIST_PDFS), says(call("list_download_files")))
    history = History(outcome.messages)
    with pytest.raises(PairingError, match="call_2"):
        history.append(UserMessage("and now?"))
    history.append(ToolResult("call_2", "list_download_files", "whoever wants to may answer it"))
    history.check_ready()


# Failures are results


@pytest.mark.parametrize(
    ("asked_for", "code"),
    [
        (call("delete_everything"), "unknown_tool"),
        (call("list_download_files", extension="pdf"), "invalid_arguments"),
        (ToolCall("c1", "list_download_files", '{"extension": '), "invalid_json"),
        (call("read_file", path="gone.txt"), "file_not_found"),
        (call("read_file", path="../secret.txt"), "path_escape"),
    ],
)
async def test_a_failure_is_told_to_the_model(asked_for: ToolCall, code: str) -> None:
    outcome = await one_round(
        says(asked_for),
        lambda request: says(f"It failed: {last_result(request).code}"),
        tools=(list_download_files(NoFiles()), read_file(DOWNLOADS)),
    )
    (result,) = [message for message in outcome.messages if isinstance(message, ToolResult)]
    assert result.code == code
    assert result.text.startswith(f"Error [{code}]: ")
    assert outcome.reply.text == f"It failed: {code}"


async def test_a_call_that_was_cut_off_does_not_run() -> None:
    cut = says(call("list_download_files"), stop=StopReason.MAX_TOKENS)
    assert calls_to_run(cut) == ()
    outcome = await one_round(
        cut, says("I will be brief."), tools=(list_download_files(NoFiles()),)
    )
    result = outcome.messages[2]
    assert isinstance(result, ToolResult)
    assert result.code == "reply_cut_off"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (says(""), EmptyReply),
        (says("no", stop=StopReason.REFUSAL), ReplyRefused),
        (says("half an ans", stop=StopReason.MAX_TOKENS), ReplyCutOff),
        (says("half", stop=StopReason.MISSING), ReplyIncomplete),
        (says(call("list_download_files"), stop=StopReason.CONTENT_FILTER), ReplyRefused),
        (says(call("list_download_files"), stop=StopReason.UNKNOWN), ReplyIncomplete),
    ],
)
@pytest.mark.parametrize("round_number", [1, 2])
async def test_what_is_neither_answer_nor_request_is_raised(
    reply: AssistantMessage, error: type[RunError], round_number: int
) -> None:
    first = [says(LIST_PDFS)] if round_number == 2 else []
    with pytest.raises(error):
        await one_round(*first, reply)


# The same, step by step


async def test_the_steps_can_be_taken_one_by_one() -> None:
    model = ScriptedModel([says(LIST_PDFS), says("two")])

    offered = define([list_download_files(DOWNLOADS)])
    history = History([UserMessage(QUESTION)])
    reply = await ask(model, offered, history)
    (wanted,) = calls_to_run(reply)
    prepared = offered.prepare(wanted)
    assert prepared.arguments.extension == ".pdf"
    assert await offered.invoke(prepared) == "Invoice.PDF\ntickets.pdf"

    result = await run_call(offered, wanted)
    assert result.text == "Invoice.PDF\ntickets.pdf"
    for message in (reply, result):
        history.append(message)
    assert (await ask(model, offered, history)).text == "two"


class SaysAnything:
    """A model that does not look at what it is asked."""

    async def reply(self, request: Request, emit: Emit) -> AssistantMessage:
        return says("ok")


async def test_a_call_without_its_result_is_not_sent() -> None:
    history = History([UserMessage(QUESTION), says(call("list_download_files", id="c1"))])
    with pytest.raises(PairingError, match="c1"):
        await ask(SaysAnything(), define([list_download_files(DOWNLOADS)]), history)
