"""A JSON Schema as a check: whether a value is valid, and everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from chapters.ch05.problem_text import Problem, problems_of
from shared.text import shorten

if TYPE_CHECKING:
    from jsonschema.protocols import Validator  # type: ignore[import-untyped, unused-ignore]

REASON_LIMIT = 300  # characters
MAX_STEPS = 100_000  # keywords looked at for one value: about a second
MATCHED_LIMIT = 10_000  # characters of a text that a pattern is tried on
COMPARED_LIMIT = 1_000  # items of a list that are compared with each other


class TooComplex(Exception):
    """A value would take too long to check."""


class SchemaCheck:
    """Checks values against one schema. The library that does it is loaded with the first one.

    A check takes MAX_STEPS at most: schemas that refer to themselves can double the work with each
    level of a value. `begin` starts the count; `problems` does so itself. Patterns are tried on
    texts of MATCHED_LIMIT characters at most, but nothing stops one that has begun: a pattern like
    `^(a+)+$` takes for ever with thirty characters, so do not put one into a schema.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._left = MAX_STEPS

    def begin(self) -> None:
        """Start the count of steps for another value."""
        self._left = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """Count. Raises TooComplex when there were too many steps."""
        self._left -= steps
        if self._left < 0:
            raise TooComplex

    def confirm(self) -> None:
        """Raises ValueError, with the reason, for a schema that cannot be used."""
        validator = self._validator
        for reference in references(self._schema):
            _confirm_reference(validator, reference)

    def fits(self, part: Any, value: Any) -> bool:
        """Whether `value` is valid under `part` of the schema. Raises TooComplex."""
        return bool(self._validator.evolve(schema=part).is_valid(value))

    def problems(self, value: Any) -> list[Problem]:
        """All that is wrong with `value`: first what an object lacks, then its properties.

        Raises TooComplex.
        """
        self.begin()
        return list(problems_of(self._validator.iter_errors(value)))

    @cached_property
    def _validator(self) -> Validator:
        return _validator(_required_first(self._schema), self.spend)


# region: validator
def _validator(schema: Mapping[str, Any], spend: Callable[[int], None]) -> Validator:
    """The library's validator. It looks nothing up: a `$ref` to a web page would be a request.

    A schema that does not say which draft it is of is one of 2020-12, or else of draft 7.
    """
    from jsonschema import SchemaError, validators  # type: ignore[import-untyped, unused-ignore]
    from referencing import Registry

    drafts = [validators.validator_for(schema, default=validators.Draft202012Validator)]
    if "$schema" not in schema:
        drafts.append(validators.Draft7Validator)
    reason = ""
    for draft in drafts:
        try:
            draft.check_schema(schema)
        except SchemaError as error:
            reason = reason or f"{error.json_path}: {shorten(error.message, REASON_LIMIT)}"
        else:
            bounded = validators.extend(draft, _counted(draft.VALIDATORS, spend))
            # A part that names its draft would be checked by a validator that does not count.
            plain = {name: part for name, part in schema.items() if name != "$schema"}
            return bounded(plain, registry=Registry(), format_checker=draft.FORMAT_CHECKER)
    raise ValueError(f"the schema cannot be used: {reason}")


# endregion: validator


# region: bounds
def _counted(keywords: Mapping[str, Any], spend: Callable[[int], None]) -> dict[str, Any]:
    """The functions that check the keywords, each of which counts first."""

    def counting(keyword: str, check: Any) -> Any:
        def checked(validator: Any, wanted: Any, value: Any, schema: Any) -> Any:
            spend(_steps(keyword, value))
            return check(validator, wanted, value, schema)

        return checked

    return {keyword: counting(keyword, check) for keyword, check in keywords.items()}


def _steps(keyword: str, value: Any) -> int:
    """How many steps a keyword is, apart from what is inside. Raises TooComplex."""
    match keyword, value:
        case "pattern", str():
            too_much = len(value) > MATCHED_LIMIT
        case "patternProperties", dict():
            too_much = any(len(name) > MATCHED_LIMIT for name in value)
        case "uniqueItems", list():
            # Texts are sorted, and other items compared, each with each.
            compared = not all(isinstance(item, str) for item in value)
            too_much = compared and len(value) > COMPARED_LIMIT
        case _:
            return 1
    if too_much:
        raise TooComplex
    return len(value) if isinstance(value, dict) else 1


# endregion: bounds


def _confirm_reference(validator: Validator, reference: str) -> None:
    from referencing.exceptions import Unresolvable

    if not reference.startswith("#"):
        raise ValueError(f"the schema refers to {reference!r}, which is not part of it")
    try:
        validator.evolve(schema={"$ref": reference}).is_valid(None)
    except Unresolvable:
        raise ValueError(f"the schema refers to {reference!r}, which it does not have") from None
    except RecursionError:
        raise ValueError(f"{reference!r} in the schema refers to itself") from None


def references(part: Any) -> Iterator[str]:
    """Each `$ref` in a schema."""
    inside = part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ()
    if isinstance(part, Mapping) and isinstance(part.get("$ref"), str):
        yield part["$ref"]
    for inner in inside:
        yield from references(inner)


def _required_first(part: Any) -> Any:
    """The same schema, which is read in such an order that what is missing is told first."""
    if isinstance(part, list):
        return [_required_first(inner) for inner in part]
    if not isinstance(part, Mapping):
        return part
    names = sorted(part, key=lambda name: not (name == "required" and isinstance(part[name], list)))
    return {name: _required_first(part[name]) for name in names}
