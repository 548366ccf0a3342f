"""Tools as Anthropic describes them, the way many agents do it: the schema is put together anew."""

from __future__ import annotations

from collections.abc import Sequence

from chapters.ch04.names_and_ids import wire_name
from chapters.ch04.provider import Target
from chapters.ch04.wire import Json
from shared.messages import ToolSpec


def tools_to_wire(specs: Sequence[ToolSpec], target: Target) -> Json:
    """The tools on offer. Whatever this code has never heard of stays behind."""
    return {
        "tools": [
            {
                "name": wire_name(spec.name, target.provider.name_limit),
                "description": spec.description,
                # region: schema
                "input_schema": {
                    "type": "object",
                    "properties": spec.parameters.get("properties", {}),
                    "required": spec.parameters.get("required", []),
                },
                # endregion: schema
            }
            for spec in specs
        ]
    }
