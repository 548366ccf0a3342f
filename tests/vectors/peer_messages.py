"""Another agent library's data model in our words, and back."""

from __future__ import annotations

import json
from collections.abc import Sequence

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
    ToolSpec,
    UserMessage,
)
from tests.vectors.peer_provider import COMPOSITE_IDS, OUR_APIS, whom
from tests.vectors.peer_row import Json

REDACTED = "[Reasoning redacted]"
STOPS = {
    "stop": StopReason.END_TURN,
    "toolUse": StopReason.TOOL_USE,
    "length": StopReason.MAX_TOKENS,
}


def specs_of(given: Json) -> tuple[ToolSpec, ...]:
    """The tools of a row."""
    return tuple(
        ToolSpec(tool["name"], tool["description"], tool["parameters"])
        for tool in given.get("tools") or ()
    )


def text_item(signature: str) -> Json:
    """What the signature of a text says of its item; nothing if the id is too long to be one."""
    try:
        said = json.loads(signature)
    except ValueError:
        said = {"id": signature}
    if not isinstance(said, dict) or not 0 < len(str(said.get("id") or "")) <= 64:
        return {}
    return {key: value for key, value in said.items() if key in ("id", "phase")}


class Translator:
    """Messages of one row, into our words and back."""

    def __init__(self, given: Json) -> None:
        self._api, self._provider, self._model = whom(given)
        self._splits = self._api == "openai-responses" and self._provider in COMPOSITE_IDS
        self._keeps = "normalizer" in given  # the row wants its messages back

    def ours(self, messages: Sequence[Json]) -> list[Message]:
        """The messages in our words."""
        return [self._message(message) for message in messages]

    def theirs(self, messages: Sequence[Message]) -> list[Json]:
        """Our messages in the words of the row."""
        return [self._told(message) for message in messages]

    def _message(self, said: Json) -> Message:
        content = said.get("content")
        blocks = content or []
        if said["role"] == "user":
            if isinstance(content, str):
                return UserMessage(content)
            return UserMessage(tuple(_part(block) for block in blocks))
        if said["role"] == "toolResult":
            if isinstance(blocks, str):
                blocks = [{"type": "text", "text": blocks}]
            call_id, _ = self._split(said["toolCallId"])
            text = "\n".join([block["text"] for block in blocks if block["type"] == "text"])
            images = tuple(_image(block) for block in blocks if block["type"] == "image")
            code = "error" if said.get("isError") else None
            return ToolResult(call_id, said["toolName"], text, code, images)
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        return AssistantMessage(
            tuple(self._block(block) for block in blocks),
            STOPS.get(said["stopReason"], StopReason.UNKNOWN),
            said["stopReason"],
            origin=self._origin(said),
        )

    def _origin(self, said: Json) -> Origin:
        api = said["api"]
        if api == self._api:
            api = OUR_APIS[api]
        return Origin(api, said["provider"], said["model"])

    def _block(self, block: Json) -> Text | Thinking | ToolCall:
        match block["type"]:
            case "text":
                signature = block.get("textSignature") or ""
                if signature and self._api == "openai-responses" and not self._keeps:
                    item = text_item(signature)
                    signature = json.dumps(item) if item else ""
                return Text(block["text"], signature)
            case "thinking":
                redacted = bool(block.get("redacted"))
                text = "" if redacted else block["thinking"]
                return Thinking(text, block.get("thinkingSignature") or "", redacted)
            case _:
                call_id, own_item = self._split(block["id"])
                arguments = json.dumps(
                    block.get("arguments") or {}, ensure_ascii=False, separators=(",", ":")
                )
                own = own_item or block.get("thoughtSignature") or ""
                return ToolCall(call_id, block["name"], arguments, own)

    def _split(self, call_id: str) -> tuple[str, str]:
        if not self._splits:
            return call_id, ""
        call_id, _, item = call_id.partition("|")
        return call_id, item

    def _told(self, message: Message) -> Json:
        match message:
            case UserMessage():
                said = message.content
                told = said if isinstance(said, str) else [_told_part(part) for part in said]
                return {"role": "user", "content": told}
            case ToolResult():
                shown: list[Text | Image] = [Text(message.text)] if message.text else []
                return {
                    "role": "toolResult",
                    "toolCallId": message.call_id,
                    "toolName": message.name,
                    "content": [_told_part(part) for part in (*shown, *message.images)],
                    "isError": message.code is not None,
                }
            case AssistantMessage():
                origin = message.origin
                assert origin is not None
                return {
                    "role": "assistant",
                    "content": [_told_block(part) for part in message.content],
                    "api": self._api if origin.api == OUR_APIS[self._api] else origin.api,
                    "provider": origin.provider,
                    "model": origin.model,
                    "stopReason": message.finish,
                }


def _part(block: Json) -> Text | Image:
    return _image(block) if block["type"] == "image" else Text(block["text"])


def _image(block: Json) -> Image:
    return Image(block.get("mimeType") or "image/png", block["data"])


def _told_part(part: Text | Image) -> Json:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    return {"type": "image", "data": part.data, "mimeType": part.media_type}


def _told_block(part: Text | Thinking | ToolCall) -> Json:
    match part:
        case Text():
            return {"type": "text", "text": part.text} | _signed("textSignature", part.signature)
        case Thinking():
            told = {"type": "thinking", "thinking": REDACTED if part.redacted else part.text}
            redacted = {"redacted": True} if part.redacted else {}
            return told | _signed("thinkingSignature", part.signature) | redacted
        case ToolCall():
            return {
                "type": "toolCall",
                "id": part.id,
                "name": part.name,
                "arguments": json.loads(part.arguments),
            } | _signed("thoughtSignature", part.signature)


def _signed(name: str, signature: str) -> Json:
    return {name: signature} if signature else {}
