"""Two ways to check arguments, chosen for each tool: as they are, or brought to their types first.

`STRICT` is what chapter 2 does. `COERCING` is kinder to a model that writes "10" for 10; a tool
gets it where a wrong guess costs nothing.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chapters.ch05.coercion import Coercion
from chapters.ch05.problem_text import Problem
from chapters.ch05.schema_check import SchemaCheck, TooComplex
from shared.errors import ToolError
from shared.messages import ToolSpec
from shared.tools import Effect, Returned, Tool

Arguments = dict[str, Any]

MOST_PROBLEMS = 20
RECEIVED_LIMIT = 2_000  # characters


# region: policies
@dataclass(frozen=True, slots=True)
class ValidationPolicy:
    """What happens to a copy of the arguments before it is checked. The call stays as it was."""

    name: str
    convert: Callable[[ToolSpec, SchemaCheck, Arguments], Arguments]


def _as_they_are(spec: ToolSpec, check: SchemaCheck, arguments: Arguments) -> Arguments:
    return arguments


def _to_their_types(spec: ToolSpec, check: SchemaCheck, arguments: Arguments) -> Arguments:
    check.begin()
    coercion = Coercion(spec.parameters, check.fits, check.spend)
    coerced: Arguments = coercion.coerce(spec.parameters, arguments)
    return coerced


STRICT = ValidationPolicy("strict", _as_they_are)
COERCING = ValidationPolicy("coercing", _to_their_types)
# endregion: policies


# region: tools
def json_schema_tool(
    spec: ToolSpec,
    effect: Effect,
    handler: Callable[[Arguments], Awaitable[Returned]],
    policy: ValidationPolicy = STRICT,
) -> Tool:
    """A tool whose arguments have a JSON Schema and no class: the handler gets a dict.

    Raises ValueError for a schema that cannot be used.
    """
    check = SchemaCheck(spec.parameters)
    check.confirm()

    def checked(arguments: Arguments) -> Arguments:
        if problems := check.problems(arguments):
            raise _Invalid(problems)
        return arguments

    return Tool(spec, effect, _validation(spec, policy, check, checked), handler)


def with_policy(tool: Tool, policy: ValidationPolicy) -> Tool:
    """The same tool, under another policy: what it refuses is told field by field."""
    check = SchemaCheck(tool.spec.parameters)

    def checked(arguments: Arguments) -> Any:
        try:
            return tool.validate(arguments)
        except ToolError as error:
            # A check that a schema cannot express has only words.
            raise _Invalid(check.problems(arguments) or [error.message]) from None

    return replace(tool, validate=_validation(tool.spec, policy, check, checked))


def coercing(tool: Tool) -> Tool:
    """The same tool, whose arguments are brought to their types first."""
    return with_policy(tool, COERCING)


# endregion: tools


class _Invalid(Exception):
    def __init__(self, problems: Sequence[Problem | str]) -> None:
        super().__init__(problems)
        self.problems = problems


# region: validation
def _validation(
    spec: ToolSpec,
    policy: ValidationPolicy,
    check: SchemaCheck,
    checked: Callable[[Arguments], Any],
) -> Callable[[Mapping[str, Any]], Any]:
    """Copy, convert, check, explain."""

    def validate(parsed: Mapping[str, Any]) -> Any:
        try:
            return checked(policy.convert(spec, check, copy.deepcopy(dict(parsed))))
        except _Invalid as invalid:
            message = explanation(spec.name, invalid.problems, parsed)
        except RecursionError:
            message = f'Validation failed for tool "{spec.name}": nested too deeply.'
        except TooComplex:
            message = f'Validation failed for tool "{spec.name}": too complex to check. Send less.'
        raise ToolError("invalid_arguments", message)

    return validate


# endregion: validation


# region: explanation
def explanation(name: str, problems: Sequence[Problem | str], received: Mapping[str, Any]) -> str:
    """Every problem with its place, and what was received, as far as that is of use."""
    lines = [f'Validation failed for tool "{name}":']
    for problem in problems[:MOST_PROBLEMS]:
        told = problem if isinstance(problem, str) else f"{problem.path}: {problem.message}"
        lines.append(f"  - {told}")
    if len(problems) > MOST_PROBLEMS:
        lines.append(f"  - and {len(problems) - MOST_PROBLEMS:,} more")
    arguments = json.dumps(received, indent=2, ensure_ascii=False)
    lines += ["", "Received arguments:", arguments[:RECEIVED_LIMIT]]
    if len(arguments) > RECEIVED_LIMIT:
        lines.append(f"[Showing the first {RECEIVED_LIMIT:,} of {len(arguments):,} characters.]")
    return "\n".join(lines)


# endregion: explanation
