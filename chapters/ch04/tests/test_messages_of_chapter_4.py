"""The words that chapter 4 adds: pictures, signatures, origins, tokens; and a tool that shows."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from chapters.ch02.registry import Registry
from shared.messages import (
    AssistantMessage,
    Image,
    Origin,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
    UserMessage,
)
from shared.tools import (
    Effect,
    Invoke,
    Output,
    PreparedCall,
    Returned,
    Tool,
    ToolLayer,
    wrap_layers,
)

PICTURE = Image("image/png", "AAAA")
OTHER = Image("image/jpeg", "BBBB")


def test_tokens_add_up_field_by_field() -> None:
    assert Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50) == Usage(11, 22, 33, 44, 55)
    assert Usage(1, 2) + Usage(3, 4) == Usage(4, 6)
    assert sum([Usage(1, 1), Usage(2, 2)], Usage(0, 0)) == Usage(3, 3)


@pytest.mark.parametrize(
    ("content", "text", "images"),
    [
        ("hi", "hi", ()),
        ("", "", ()),
        ((), "", ()),
        ((Text("a"), PICTURE, Text("b"), OTHER), "ab", (PICTURE, OTHER)),
        ((PICTURE,), "", (PICTURE,)),
    ],
)
def test_a_message_of_a_person_tells_its_text_and_its_pictures(
    content: Any, text: str, images: tuple[Image, ...]
) -> None:
    message = UserMessage(content)
    assert (message.text, message.images) == (text, images)


def test_thinking_is_no_part_of_what_a_reply_says_or_asks_for() -> None:
    call = ToolCall("c", "t", "{}")
    reply = AssistantMessage((Thinking("hm", "signature"), Text("a"), call, Text("b")))
    assert (reply.text, reply.calls) == ("ab", (call,))


@pytest.mark.parametrize(
    "message",
    [
        Text("a"),
        Thinking("a"),
        PICTURE,
        Origin("a", "b", "c"),
        Usage(1, 2),
        UserMessage("a"),
        AssistantMessage(()),
        ToolResult("c", "t", "x"),
    ],
    ids=lambda message: type(message).__name__,
)
def test_what_was_said_cannot_be_changed(message: Any) -> None:
    field = next(iter(type(message).__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(message, field, "x")


# -- a tool that shows pictures


def a_tool(returned: Any) -> Tool:
    async def handler(arguments: Any) -> Any:
        return returned

    spec = ToolSpec("show", "Shows.", {"type": "object", "properties": {}})
    return Tool(spec, Effect.READ, dict, handler)


async def result_of(returned: Any, *layers: ToolLayer) -> ToolResult:
    results: list[ToolResult] = []
    registry = Registry((a_tool(returned),), wrap_layers(layers))
    await registry.run([ToolCall("c1", "show", "{}")], results.append, lambda event: None)
    return results[0]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("returned", "result"),
    [
        ("text", ToolResult("c1", "show", "text")),
        (Output("text"), ToolResult("c1", "show", "text")),
        (Output("cap", (PICTURE, OTHER)), ToolResult("c1", "show", "cap", None, (PICTURE, OTHER))),
        (Output("", (PICTURE,)), ToolResult("c1", "show", "", None, (PICTURE,))),
    ],
    ids=["a text", "an output without pictures", "text and pictures", "a picture"],
)
async def test_what_a_tool_shows_is_in_its_result(returned: Any, result: ToolResult) -> None:
    assert await result_of(returned) == result


@pytest.mark.anyio
@pytest.mark.parametrize("returned", [None, b"bytes", PICTURE, (PICTURE,), Output(None)])  # type: ignore[arg-type]
async def test_anything_else_is_a_failure_that_the_model_can_read(returned: Any) -> None:
    result = await result_of(returned)
    assert (result.code, result.images) == ("invalid_tool_result", ())


@pytest.mark.anyio
async def test_a_layer_may_take_a_picture_away() -> None:
    def blind(invoke: Invoke) -> Invoke:
        async def without_pictures(prepared: PreparedCall) -> Returned:
            returned = await invoke(prepared)
            return returned if isinstance(returned, str) else returned.text

        return without_pictures

    result = await result_of(Output("cap", (PICTURE,)), ToolLayer("blind", blind))
    assert result == ToolResult("c1", "show", "cap")
