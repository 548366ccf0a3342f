"""What `RiskTiers` promises: the highest risk counts, and what is unknown is high."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from chapters import ch03
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch03.exercises.trial import Linked, MoveFile, prepared, some_tool
from shared.decision import Behaviour, Decision
from shared.scripted import call, last_result, says
from shared.testing import FakeApprover, FakeCommands, run_script
from shared.tools import Effect, Tool

pytestmark = pytest.mark.anyio

EFFECT = "chapters/ch03/README.md#decide-by-effect"
VALUE = "chapters/ch03/README.md#a-decision-is-a-value"
PREFIX = "chapters/ch03/README.md#what-a-command-prefix-cannot-promise"
RULES = "chapters/ch03/README.md#rules-in-a-file"

LOW, MEDIUM, HIGH = Behaviour.PASS, Behaviour.ASK, Behaviour.DENY
TIERS = {"low": LOW, "medium": MEDIUM, "high": HIGH}


def table(target: ModuleType, *rows: tuple[str, Effect, dict[str, str]]) -> list[Any]:
    """A table of rows such as `("low", Effect.WRITE, {"path": "docs/**"})`."""
    return [
        target.Row(target.Risk(target.Tier[tier.upper()], f"row {number}"), effect, **named)
        for number, (tier, effect, named) in enumerate(rows, 1)
    ]


async def decide(
    participant: Any, tool: Tool | str, arguments: dict[str, str]
) -> tuple[Behaviour, str]:
    """What is decided about a call, and the reason."""
    decision: Decision = await participant.decide(prepared(tool, **arguments))
    assert decision.source == "risk"
    return decision.behaviour, decision.reason


def write(path: str) -> dict[str, str]:
    return {"path": path, "content": "new\n"}


EXAMPLE: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("low", "read_file", {"path": "src/main.py"}),
    ("high", "read_file", {"path": ".env"}),
    ("high", "read_file", {"path": "deploy/.env"}),
    ("low", "write_file", write("docs/usage.md")),
    ("low", "write_file", write("docs/a/b/usage.md")),
    ("medium", "write_file", write("src/main.py")),
    ("medium", "edit_file", {"path": "src/main.py", "old_text": "a", "new_text": "b"}),
    ("high", "write_file", write("docs/api/index.md")),
    ("high", "write_file", write("pyproject.toml")),
    ("low", "shell", {"command": "git status --short"}),
    ("medium", "shell", {"command": "python -m pytest tests"}),
    ("high", "shell", {"command": "python -m http.server"}),
    ("high", "shell", {"command": "git push"}),
    ("high", "shell", {"command": "cat .env"}),
)


@pytest.mark.contract(
    "With the table of the example, each call gets the tier that the table says.", read=EFFECT
)
@pytest.mark.parametrize("tier", TIERS)
async def test_the_example(target: ModuleType, tier: str) -> None:
    risks = target.RiskTiers(target.TABLE, MemoryFiles())
    for expected, tool, arguments in EXAMPLE:
        if expected == tier:
            behaviour, reason = await decide(risks, tool, arguments)
            assert (behaviour, f"risk is {tier}" in reason) == (TIERS[tier], True), (
                f"{tool} {arguments}: {reason}"
            )


@pytest.mark.contract(
    "If several rows fit, the highest counts and gives the reason, wherever it stands.", read=VALUE
)
@pytest.mark.parametrize("turned", [False, True])
async def test_the_highest_row_counts(target: ModuleType, turned: bool) -> None:
    rows = table(
        target,
        ("low", Effect.WRITE, {"path": "**"}),
        ("medium", Effect.WRITE, {"path": "src/**"}),
        ("high", Effect.WRITE, {"path": "**/*.lock"}),
    )
    risks = target.RiskTiers(rows[::-1] if turned else rows, MemoryFiles())
    assert (await decide(risks, "write_file", write("a.txt")))[0] is LOW
    assert (await decide(risks, "write_file", write("src/a.py")))[0] is MEDIUM
    behaviour, reason = await decide(risks, "write_file", write("src/uv.lock"))
    assert (behaviour, "row 3" in reason) == (HIGH, True), reason


@pytest.mark.contract("What no row fits is high; with an empty table that is all.", read=EFFECT)
@pytest.mark.parametrize("effect", list(Effect))
async def test_unknown_is_high(target: ModuleType, effect: Effect) -> None:
    others = [other for other in Effect if other is not effect]
    rows = table(target, *(("low", other, {}) for other in others))
    tool = some_tool("read_file", effect)
    for some in (rows, []):
        behaviour, reason = await decide(target.RiskTiers(some, MemoryFiles()), tool, {})
        assert behaviour is HIGH, reason
    known = target.RiskTiers(table(target, ("low", effect, {})), MemoryFiles())
    assert (await decide(known, tool, {}))[0] is LOW


@pytest.mark.contract(
    "A row that names a path or a command does not fit a call that has none.", read=EFFECT
)
@pytest.mark.parametrize("named", [{"path": "**"}, {"command": "ls"}])
async def test_a_row_needs_what_it_names(target: ModuleType, named: dict[str, str]) -> None:
    rows = table(target, *(("low", effect, named) for effect in Effect))
    risks = target.RiskTiers(rows, MemoryFiles())
    for effect in Effect:
        assert (await decide(risks, some_tool("sync", effect), {}))[0] is HIGH
    path_named = "path" in named
    other: tuple[str, dict[str, str]] = (
        ("shell", {"command": "ls"}) if path_named else ("read_file", {"path": "ls"})
    )
    assert (await decide(risks, *other))[0] is HIGH


TRICKS = (
    "git status; rm -r src",
    "git status && rm -r src",
    "git status\nrm -r src",
    "git status | sh",
    "git status > src/main.py",
    "git status $(rm -r src)",
    "git status `rm -r src`",
    "GIT_DIR=x git status",
)


@pytest.mark.contract(
    "A command that is not one simple command is high, whatever the table says.", read=PREFIX
)
async def test_not_simple_is_high(target: ModuleType) -> None:
    rows = table(
        target,
        ("low", Effect.EXECUTE, {}),
        ("low", Effect.EXECUTE, {"command": "git status"}),
    )
    risks = target.RiskTiers(rows, MemoryFiles())
    assert (await decide(risks, "shell", {"command": "git status"}))[0] is LOW
    found = {trick: (await decide(risks, "shell", {"command": trick}))[0] for trick in TRICKS}
    assert found == dict.fromkeys(TRICKS, HIGH)
    assert not any(target.fits(rows[1], Effect.EXECUTE, None, trick) for trick in TRICKS)


@pytest.mark.contract("A command is compared word by word.", read=PREFIX)
async def test_words_not_letters(target: ModuleType) -> None:
    rows = table(target, ("low", Effect.EXECUTE, {"command": "git status"}))
    risks = target.RiskTiers(rows, MemoryFiles())
    found = {
        command: (await decide(risks, "shell", {"command": command}))[0]
        for command in ("git  status", "git 'status' -s", "git statusquo", "git", "hg git status")
    }
    assert list(found.values()) == [LOW, LOW, HIGH, HIGH, HIGH], found


@pytest.mark.contract(
    "A path counts as it is spelled and where it leads; the higher risk wins.", read=RULES
)
async def test_links_do_not_hide(target: ModuleType) -> None:
    rows = table(
        target,
        ("low", Effect.WRITE, {"path": "docs/**"}),
        ("high", Effect.WRITE, {"path": ".git/**"}),
    )
    links = {"docs/a.md": ".git/config", ".git/b": "docs/b.md", "docs/c.md": "src/c.py"}
    risks = target.RiskTiers(rows, Linked({**links, "docs/d.md": "docs/e.md"}))
    found = {
        path: (await decide(risks, "write_file", write(path)))[0]
        for path in ("docs/a.md", ".git/b", "docs/c.md", "docs/d.md", "docs//./f.md", "./.git/x")
    }
    assert list(found.values()) == [HIGH, HIGH, HIGH, LOW, LOW, HIGH], found


@pytest.mark.contract("A path that leads nowhere, or out of the workspace, is high.", read=RULES)
@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a\x00b", "con"])
async def test_nowhere_is_high(target: ModuleType, path: str) -> None:
    rows = table(target, ("low", Effect.WRITE, {}), ("low", Effect.WRITE, {"path": "**"}))
    risks = target.RiskTiers(rows, MemoryFiles())
    assert (await decide(risks, "write_file", write(path)))[0] is HIGH


@pytest.mark.contract(
    "Of a call with several paths the riskiest counts, whichever argument it is.", read=EFFECT
)
@pytest.mark.parametrize(
    ("source", "goal", "expected"),
    [
        ("docs/a", "docs/b", LOW),
        ("src/a", "docs/b", MEDIUM),
        ("docs/a", "src/b", MEDIUM),
        ("secret/a", "docs/b", HIGH),
        ("docs/a", "secret/b", HIGH),
        ("unknown/a", "docs/b", HIGH),
        ("docs/a", "unknown/b", HIGH),
    ],
)
async def test_every_path_counts(
    target: ModuleType, source: str, goal: str, expected: Behaviour
) -> None:
    rows = table(
        target,
        ("low", Effect.WRITE, {"path": "docs/**"}),
        ("medium", Effect.WRITE, {"path": "src/**"}),
        ("high", Effect.WRITE, {"path": "secret/**"}),
    )
    risks = target.RiskTiers(rows, MemoryFiles())
    move = some_tool("move_file", Effect.WRITE, MoveFile)
    assert (await decide(risks, move, {"source": source, "target": goal}))[0] is expected


async def run_commands(
    target: ModuleType, commands: Sequence[str], answer: str
) -> tuple[list[str], int, list[str]]:
    """What ran, how many questions there were, and what the model read."""
    runner, approver = FakeCommands(), FakeApprover(answer)
    recording = await run_script(
        ch03.plan,
        [
            *(says(call("shell", command=command)) for command in commands),
            lambda request: says(last_result(request).text),
        ],
        commands=runner,
        approver=approver,
        participants=(target.RiskTiers(target.TABLE, MemoryFiles()),),
    )
    return runner.commands, len(approver.questions), [each.text for each in recording.results]


@pytest.mark.contract(
    "High is denied: nothing runs, nobody is asked, and the model reads why.", read=VALUE
)
async def test_high_does_not_run(target: ModuleType) -> None:
    ran, asked, (text,) = await run_commands(target, ["git push"], "yes")
    assert (ran, asked) == ([], 0)
    assert "risk is high" in text


@pytest.mark.contract("Low passes and does not allow: the effect still asks.", read=VALUE)
async def test_low_is_not_allowed(target: ModuleType) -> None:
    ran, asked, _ = await run_commands(target, ["git status"], "no")
    assert (ran, asked) == ([], 1)


@pytest.mark.contract("An “always” for a tool reaches medium, and never high.", read=VALUE)
async def test_always_does_not_reach_high(target: ModuleType) -> None:
    commands = ["git status", "python -m pytest", "git push"]
    ran, asked, _ = await run_commands(target, commands, "t")
    assert (ran, asked) == (commands[:2], 1)
