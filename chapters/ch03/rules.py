"""Your own rules, from a TOML file: allow, ask or deny by tool, effect, path and command."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from chapters.ch02.safe_path import parse_path, parse_pattern
from chapters.ch03.command_prefix import begins_with, may_begin_with, simple_words
from chapters.ch03.path_match import matches_path
from chapters.ch03.paths import workspace_paths
from chapters.ch03.policy import combine
from chapters.ch03.toml_position import end_of, position
from shared.decision import Behaviour, Decision
from shared.errors import ConfigError, ToolError
from shared.ports import WorkspaceFiles
from shared.tools import Effect, PreparedCall

Spellings = tuple[tuple[str, ...] | None, ...]
"""The names in a path, one tuple for each way to spell it; None for one that is not known."""


# region: rule
class Rule(BaseModel):
    """One `[[rule]]` of the file: what it is about, and what it says about that."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    behaviour: Literal["allow", "ask", "deny"]
    tool: str | None = Field(default=None, min_length=1)
    effect: Effect | None = None
    path: str | None = Field(default=None, min_length=1)
    command: str | None = Field(default=None, min_length=1)
    reason: str = ""

    @field_validator("path")
    @classmethod
    def _lies_inside(cls, path: str) -> str:
        try:
            parse_pattern(path)
        except ToolError as error:
            raise ValueError(error.message) from None
        if re.search(r"[{}]", re.sub(r"\[.*?\]", "", path)):
            raise ValueError("braces mean nothing here: write a rule for each, or [{] for a brace")
        return path

    @field_validator("command")
    @classmethod
    def _is_simple(cls, command: str) -> str:
        if simple_words(command) is None:
            raise ValueError("give the first words of one simple command")
        return command

    @model_validator(mode="after")
    def _is_about_something(self) -> Self:
        if (self.tool, self.effect, self.path, self.command) == (None,) * 4:
            raise ValueError("a rule needs at least one of tool, effect, path, command")
        if self.path is not None and self.command is not None:
            raise ValueError("no call has a path and a command: make two rules of it")
        return self


# endregion: rule


# region: rules
class Rules:
    """A participant: the strictest of the rules that fit a call, or nothing if none does."""

    name = "rules"

    def __init__(self, rules: Sequence[Rule], files: WorkspaceFiles) -> None:
        self._rules = tuple(rules)
        self._files = files

    async def decide(self, prepared: PreparedCall) -> Decision:
        """Every rule is looked at; deny before ask before allow."""
        paths = [await self._spellings(path) for path in workspace_paths(prepared.arguments)]
        said = [
            Decision(
                Behaviour(rule.behaviour),
                why(rule, prepared, paths),
                f"{self.name}, rule {number}",
                by_person=True,
            )
            for number, rule in enumerate(self._rules, 1)
            if fits(rule, prepared, paths)
        ]
        return combine(said) if said else Decision(Behaviour.PASS, "no rule fits", self.name)

    def unknown_tools(self, known: Collection[str]) -> list[str]:
        """The tools that rules name and that an agent with the `known` ones does not have."""
        return [rule.tool for rule in self._rules if rule.tool and rule.tool not in known]

    async def _spellings(self, path: str) -> Spellings:
        """A path as the model spells it, and without links."""
        try:
            spelled = parse_path(path)
        except ToolError:
            return (None,)
        try:
            real = await self._files.resolve(path)
        except ToolError:
            return spelled, None
        # Not `parse_path`: a link may lead to a name that no call could spell.
        return spelled, () if real == "." else tuple(real.split("/"))


def fits(rule: Rule, prepared: PreparedCall, paths: Sequence[Spellings]) -> bool:
    """True if a rule is about this call. In doubt, an allow is not, an ask or a deny is."""
    if rule.tool not in (None, prepared.tool.name):
        return False
    if rule.effect not in (None, prepared.tool.effect):
        return False
    sure = rule.behaviour == "allow"
    if rule.path is not None:
        spellings = [spelling for path in paths for spelling in path]
        matches = [matches_path(rule.path, spelling, sure=sure) for spelling in spellings]
        return bool(matches) and (all if sure else any)(matches)
    if rule.command is not None:
        command = command_of(prepared)
        prefix = simple_words(rule.command) or ()
        if command is None:
            return False
        return begins_with(command, prefix) is True if sure else may_begin_with(command, prefix)
    return True


def why(rule: Rule, prepared: PreparedCall, paths: Sequence[Spellings]) -> str:
    """The reason of a rule that fits, and whether it fits only because nobody can tell."""
    reason = rule.reason or f"the rules file says {rule.behaviour}"
    doubt = ""
    if rule.command is not None and simple_words(command_of(prepared) or "") is None:
        doubt = "this is not one simple command"
    elif rule.path is not None and not any(
        matches_path(rule.path, names, sure=False) for path in paths for names in path if names
    ):
        doubt = "where this path leads cannot be told"
    return f"{reason.rstrip('.')} ({doubt}, so the rule may apply)" if doubt else reason


def command_of(prepared: PreparedCall) -> str | None:
    """The command line of a call that has one."""
    command = getattr(prepared.arguments, "command", None)
    return command if isinstance(command, str) else None


# endregion: rules


# region: load
class RulesFile(BaseModel):
    """What the file may hold: `[[rule]]`, as often as you like, and nothing else."""

    model_config = ConfigDict(extra="forbid")

    rule: list[Rule] = []


def load_rules(path: Path, files: WorkspaceFiles) -> Rules:
    """The rules of a file. Raises ConfigError with line and column for one that is broken."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"The rules file {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line, column = end_of(error.object[: error.start].decode())
        raise ConfigError(
            f"{path}: This is not UTF-8 (at line {line}, column {column}). Save the file as UTF-8."
        ) from None
    try:
        return Rules(RulesFile.model_validate(tomllib.loads(text)).rule, files)
    except tomllib.TOMLDecodeError as error:
        line, column = end_of(text)
        end = f"at line {line}, column {column}"
        problem = str(error).replace("at end of document", end)
    except RecursionError:
        problem = "Nested too deeply (at line 1, column 1)"
    except ValidationError as error:
        problem = explain(error, text)
    except ValueError:  # of Python itself: it reads no number of that many digits
        found = re.search(r"\d[\d_]{4000,}", text)
        line, column = end_of(text[: found.start()] if found else "")
        problem = f"This number is too long (at line {line}, column {column})"
    raise ConfigError(f"{path}: {problem}. Correct the file: nothing runs with broken rules.")


# endregion: load


def explain(error: ValidationError, text: str) -> str:
    """The first problem, and where in the file it is."""
    problem = error.errors(include_url=False, include_input=False)[0]
    loc = problem["loc"]
    what = problem["msg"].removeprefix("Value error, ").rstrip(".")
    if problem["type"] == "extra_forbidden":
        known = RulesFile if len(loc) == 1 else Rule
        what = f"there is no such key; the keys are: {', '.join(known.model_fields)}"
    elif problem["type"] == "list_type":
        what = "write [[rule]], in double brackets, above each rule"
    line, column = position(text, loc)
    field = loc[-1] if isinstance(loc[-1], str) else "rule"
    return f"{field}: {what} (at line {line}, column {column})"
