"""What it costs to show an argument while it arrives: figures for `python -m labs.bench`.

The same arguments are cut into pieces of four characters and asked for after each of them, once at
50 KB and once at 200 KB. An exponent of 1 means that twice the text is twice the work; parsing at
each piece has one of 2.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_core import from_json

from chapters.ch05.accumulator import StreamWire
from chapters.ch05.anthropic_stream import ANTHROPIC_STREAM
from chapters.ch05.chat_stream import CHAT_STREAM
from chapters.ch05.preview import Preview
from chapters.ch05.responses_stream import RESPONSES_STREAM
from labs.timing import Figure, growth, paired

Json = dict[str, Any]

PIECE = 4  # characters
FEW, MANY = 50_000, 200_000  # characters of arguments
PAIR = {"oldText": 'a small text, "quoted" once' + "." * 86, "newText": "another one" + "." * 95}


def one_text(size: int) -> dict[str, Any]:
    """Arguments with one long text: a file that is written."""
    line = "    total = total + value  # a line of a file, with a tab\\t in it\n"
    return {
        "path": "src/module.py",
        "content": (line * (size // len(line) + 1))[: size * 96 // 100],
    }


def many_fields(size: int) -> dict[str, Any]:
    """Arguments with many small texts: 775 pairs of them in 200 KB."""
    return {"path": "src/module.py", "edits": [PAIR] * (size * 775 // MANY)}


def pieces(arguments: dict[str, Any]) -> list[str]:
    """The arguments as they arrive."""
    text = json.dumps(arguments)
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


def show(arriving: list[str]) -> None:
    """What a screen does: ask after each piece, and once more at the end."""
    preview = Preview()
    for piece in arriving:
        preview.feed(piece)
        preview.so_far()
    assert len(preview.whole()) == 2


def parse_once(arriving: list[str]) -> None:
    """The floor: nothing is seen before the end."""
    assert len(from_json("".join(arriving))) == 2


def parse_each_time(arriving: list[str]) -> None:
    """What suggests itself: the whole text again at each piece."""
    text = ""
    for piece in arriving:
        text += piece
        from_json(text, allow_partial="trailing-strings")


SHAPES: tuple[tuple[str, Callable[[int], dict[str, Any]]], ...] = (
    ("one long text", one_text),
    ("many small texts", many_fields),
)


def chat_pieces(arriving: list[str]) -> list[Json]:
    """The events of Chat Completions that bring these arguments."""
    begun = {"index": 0, "id": "call_1", "function": {"name": "edit", "arguments": ""}}
    calls = [begun, *[{"index": 0, "function": {"arguments": piece}} for piece in arriving]]
    events: list[Json] = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    return [*events, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}]


def responses_pieces(arriving: list[str]) -> list[Json]:
    """The events of Responses that bring these arguments."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "edit"}
    named = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1"}
    return [
        {
            "type": "response.output_item.added",
            "output_index": 0,
            "item": {**item, "arguments": ""},
        },
        *[{**named, "delta": piece} for piece in arriving],
        {"type": "response.completed", "response": {"status": "completed", "output": []}},
    ]


def messages_pieces(arriving: list[str]) -> list[Json]:
    """The events of Messages that bring these arguments."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "edit", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in arriving]
    return [
        {"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        *[{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}},
    ]


STREAMS = {
    "OpenAI Chat": (CHAT_STREAM, chat_pieces),
    "OpenAI Responses": (RESPONSES_STREAM, responses_pieces),
    "Anthropic": (ANTHROPIC_STREAM, messages_pieces),
}


def arrival_figures() -> list[Figure]:
    """What a piece of a long argument costs the accumulators over one of a shorter argument."""
    figures = []
    for name, (stream, events_of) in STREAMS.items():
        events = {size: events_of(pieces(one_text(size))) for size in (FEW, MANY)}

        def put_together(size: int, stream: StreamWire = stream, events: Any = events) -> None:
            arriving = stream.accumulator(frozenset({"edit"}))
            for event in events[size]:
                for _ in arriving.feed(event):
                    pass
            for _ in arriving.end():
                pass
            assert len(str(arriving.answer())) > size * 9 // 10

        label = f"{name}: a piece of an argument of 200 KB over one of 50 KB, put together"
        figures.append(growth(label, "<= 1.3", put_together, FEW, MANY))
    return figures


def argument_figures() -> list[Figure]:
    """Growth of the cost from 50 to 200 KB, and the cost over one parse at the end."""
    return [figure for shape, made in SHAPES for figure in _figures_of(shape, made)]


def _figures_of(shape: str, made: Callable[[int], dict[str, Any]]) -> list[Figure]:
    few, many = pieces(made(FEW)), pieces(made(MANY))
    cost = growth("", "", lambda size: show(many if size == MANY else few), FEW, MANY)
    return [
        exponent(f"a 200 KB argument in pieces, {shape}: growth exponent", cost),
        paired(
            f"a 200 KB argument in pieces, {shape}: shown, over join and parse once",
            "<= 60",
            lambda: show(many),
            lambda: parse_once(many),
        ),
        paired(
            f"a 50 KB argument in pieces, {shape}: parsed at each piece, over shown",
            "for comparison",
            lambda: parse_each_time(few),
            lambda: show(few),
        ),
    ]


def exponent(name: str, cost: Figure) -> Figure:
    """`cost`, of a character in a long text over one in a short text, as a power of the length."""
    power = [
        1 + math.log(ratio) / math.log(MANY / FEW)
        for ratio in (cost.ratio, cost.lowest, cost.highest)
    ]
    return replace(
        cost, name=name, ratio=power[0], lowest=power[1], highest=power[2], target="<= 1.15"
    )
