"""Random histories, as bad as they come: for tests of what is made of them."""

from __future__ import annotations

import json
from itertools import count

from hypothesis import strategies as st

from chapters.ch04.provider import Api, Target
from shared.messages import (
    AssistantMessage,
    Image,
    Message,
    Origin,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

HALF = "\ud83d"  # of a surrogate pair
ELSEWHERE = Origin("another-api", "another-provider", "another-model")
PICTURE = Image("image/png", "QUJD")

TEXTS = ["hi", "", "  \n", f"half {HALF} pair", "Grüße 👩‍🚀", "two\nlines"]
CALL_IDS = [
    *("call_1", "call_1", "call_2", "functions.read:0", "functions_read_0", "call_1|fc_1"),
    *("", "|", f"id{HALF}", "日本", "x" * 70, "x" * 69 + "👍", "ends_with_", "line\nbreak", " "),
]
NAMES = ["read_file", "read.file", "read file", "", "n" * 200, f"name{HALF}", "日本"]
ARGUMENTS = [
    *('{"path": "a"}', "{}", "", "null", "[]", '"{}"', '{"path": "a', '{"a": NaN}', '{"a": 1e999}'),
    *('{"a": "\\ud83d"}', f'{{"a": "{HALF}"}}', '{"a": 1}{"b": 2}', '{"a": 1, "a": 2}', "[" * 9),
]

texts = st.sampled_from(TEXTS)
pictures = st.lists(st.just(PICTURE), max_size=2).map(tuple)
words = texts | st.lists(texts.map(Text) | st.just(PICTURE), max_size=3).map(tuple)
people = words.map(UserMessage)
stops = st.sampled_from([StopReason.TOOL_USE] * 6 + list(StopReason))


@st.composite
def rounds(draw: st.DrawFn, target: Target) -> list[Message]:
    """What a person says, a reply, its results, and what was said in between."""
    reply = draw(replies(target))
    said: list[Message] = [reply]
    for call in reply.calls:
        for _ in range(draw(st.sampled_from([1, 1, 1, 1, 0, 2]))):
            code = draw(st.sampled_from([None, "timeout"]))
            said.append(ToolResult(call.id, call.name, draw(texts), code, draw(pictures)))
        if draw(st.integers(0, 5)) == 0:
            said.append(draw(people))
    return [draw(people), *said] if draw(st.booleans()) else said


@st.composite
def replies(draw: st.DrawFn, target: Target) -> AssistantMessage:
    """A reply, written by the target itself, by somebody else or by nobody."""
    origin = draw(st.sampled_from([target.origin, target.origin, ELSEWHERE, None]))
    content: list[Text | Thinking | ToolCall] = []
    for kind in draw(st.lists(st.sampled_from("tthccc"), max_size=5)):
        if kind == "t":
            content.append(Text(draw(texts)))
        elif kind == "h":
            content.append(Thinking(draw(texts), redacted=draw(st.booleans())))
        else:
            call_id, name = draw(st.sampled_from(CALL_IDS)), draw(st.sampled_from(NAMES))
            content.append(ToolCall(call_id, name, draw(st.sampled_from(ARGUMENTS))))
    return AssistantMessage(tuple(content), draw(stops), origin=origin)


@st.composite
def histories(draw: st.DrawFn, target: Target) -> list[Message]:
    """Rounds, signed by their authors; then messages are lost, doubled and moved."""
    whole = draw(st.lists(rounds(target), max_size=4))
    numbers = count()
    said = [signed(message, target, numbers) for each in whole for message in each]
    for _ in range(draw(st.integers(0, 6))):
        if said:
            here, there = (draw(st.integers(0, len(said) - 1)) for _ in range(2))
            match draw(st.sampled_from(["lose", "double", "move", "cut"])):
                case "lose":
                    del said[here]
                case "double":
                    said.insert(there, said[here])
                case "move":
                    said.insert(there, said.pop(here))
                case "cut":
                    del said[:here]
    return said


def signed(message: Message, target: Target, numbers: count[int]) -> Message:
    """A message with the signatures that its author would have given it: no two alike."""
    if not isinstance(message, AssistantMessage) or message.origin is None:
        return message
    content: list[Text | Thinking | ToolCall] = []
    thought = False
    for part in message.content:
        signature = signature_of(part, target.provider.api, next(numbers), thought)
        thought = thought or isinstance(part, Thinking)
        match part:
            case Text(text):
                content.append(Text(text, signature))
            case Thinking(text, _, redacted):
                content.append(Thinking(text, signature, redacted))
            case ToolCall(call_id, name, arguments):
                content.append(ToolCall(call_id, name, arguments, signature))
    return AssistantMessage(tuple(content), message.stop, message.finish, None, message.origin)


def signature_of(part: Text | Thinking | ToolCall, api: Api, number: int, thought: bool) -> str:
    """What this API would sign the part with. In Responses an item with an id follows thinking."""
    match api, part:
        case Api.CHAT, Thinking():
            return "reasoning_content"
        case Api.RESPONSES, Thinking():
            item = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
            return json.dumps({**item, "encrypted_content": "gAAA"})
        case Api.RESPONSES, Text():
            return json.dumps({"id": f"msg_{number}"}) if thought else ""
        case Api.RESPONSES, ToolCall():
            return f"fc_{number}" if thought else ""
        case Api.ANTHROPIC, Thinking():
            return f"c2ln{number:04}"
        case Api.GEMINI, _:
            return f"c2ln{number:04}"
    return ""
