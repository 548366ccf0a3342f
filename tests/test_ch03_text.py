"""The text of chapter 3 tells the truth: its run, its ways around, its tables, its links."""

from __future__ import annotations

import asyncio
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chapters import ch03
from chapters.ch01.dispatch import prepare
from chapters.ch01.shell import shell
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch03.naive_deny_list import looks_dangerous
from chapters.ch03.policy import combine
from chapters.ch03.question import Questions
from chapters.ch03.rules import Rules, load_rules
from chapters.ch03.session import SessionAnswers
from labs.audit_view import show
from labs.line_reader import LineReader
from labs.terminal import TerminalApprover
from shared.decision import Behaviour, Decision
from shared.errors import ConfigError
from shared.messages import ToolCall, ToolResult
from shared.screen import Screen
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, Recording, fake_kit, run_script
from shared.tools import PreparedCall
from tests.text_checks import ROOT, dead_links, missing_tests, page_of

PAGE = page_of(3)
CHAPTER = ROOT / "chapters" / "ch03"

needs_a_shell = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("sh") is None, reason="the commands are for sh"
)


class Person:
    """Somebody who gives these answers, one after the other."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.questions: list[str] = []

    async def ask(self, question: str) -> str:
        self.questions.append(question)
        return self._answers.pop(0)


def rules_from(folder: Path, text: str, files: MemoryFiles) -> Rules:
    """The rules that a file with this text holds."""
    (folder / "rules.toml").write_text(text, encoding="utf-8")
    return load_rules(folder / "rules.toml", files)


def code_in(cell: str) -> str:
    """What stands between the backquotes of a cell."""
    match = re.search(r"`([^`]+)`", cell)
    assert match, cell
    return match[1]


async def try_command(
    command: str, *, rules: Rules | None = None
) -> tuple[Recording, FakeApprover, FakeCommands]:
    """What becomes of a command whose question is answered with no."""
    person, commands = FakeApprover("no"), FakeCommands()
    run = await run_script(
        ch03.plan,
        [says(call("shell", command=command)), says("done")],
        approver=person,
        commands=commands,
        participants=(rules,) if rules else (),
    )
    assert run.error is None
    return run, person, commands


# One run, decision by decision.


def on_the_wire(result: ToolResult) -> dict[str, str]:
    return {"role": "tool", "tool_call_id": result.call_id, "content": result.text}


@pytest.mark.anyio
async def test_the_run_on_the_page_is_what_happens(tmp_path: Path) -> None:
    table = PAGE.rows("One run, decision by decision")
    calls = [call(code_in(row[1]), **json.loads(code_in(row[2]))) for row in table]
    question, _, typed = PAGE.block("the question").rstrip("\n").rpartition("] ")
    files, person, audit = MemoryFiles({"version.txt": "1.3\n"}), Person(typed, "y"), MemoryAudit()
    commands = FakeCommands()
    run = await run_script(
        ch03.plan,
        [*[says(each) for each in calls], says("The version is 1.4.")],
        files=files,
        approver=person,
        audit=audit,
        commands=commands,
        participants=(rules_from(tmp_path, PAGE.block("the rules of the run"), files),),
    )
    assert run.error is None
    assert [code_in(row[0]) for row in table] == [result.call_id for result in run.results]
    assert person.questions[0] == f"{question}] "
    assert len(person.questions) == 2
    assert on_the_wire(run.results[1]) == json.loads(PAGE.block("the refusal"))
    assert "`Denied by rules, rule 1: only a person publishes.`" in PAGE.text
    assert "Denied by rules, rule 1: only a person publishes." in run.results[3].text
    shown = [json.loads(line) for line in PAGE.block("the audit").splitlines()]
    assert shown == audit.entries
    assert await files.read_text("version.txt") == "1.4\n"
    assert commands.commands == []


def test_the_printed_audit_is_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = [
        json.dumps({"time": "2030-01-01T12:00:00+00:00", **json.loads(line)}).encode() + b"\n"
        for line in PAGE.block("the audit").splitlines()
    ]
    out = io.StringIO()
    assert show(lines, Screen(out), last=1) == 0
    assert out.getvalue() == PAGE.block("the audit, printed")


def test_the_fields_of_the_audit_are_explained() -> None:
    line = json.loads(PAGE.block("the audit").splitlines()[0])
    section = PAGE.section("One run, decision by decision")
    assert [name for name in line if f"`{name}`" not in section] == []


# The deny-list.

WAYS = [code_in(row[1]) for row in PAGE.rows("The deny-list, and ways around it")]


@needs_a_shell
@pytest.mark.parametrize("command", WAYS)
def test_a_way_around_the_deny_list(command: str, tmp_path: Path) -> None:
    """In a folder of its own: each command names its files relative to that folder."""
    (tmp_path / "precious.txt").write_text("precious\n")
    (tmp_path / "other.txt").write_text("other\n")
    (tmp_path / "tidy.sh").write_text("rm precious.txt\n")
    assert not looks_dangerous(command)
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True, timeout=20)
    left = tmp_path / "precious.txt"
    assert not left.exists() or "precious" not in left.read_text()


def test_the_deny_list_refuses_harmless_commands() -> None:
    assert looks_dangerous('git commit -m "transform the list"')


@pytest.mark.anyio
@pytest.mark.parametrize("command", [*WAYS, "ls"])
async def test_every_way_around_is_asked_about_and_so_is_ls(command: str) -> None:
    _, person, commands = await try_command(command)
    assert len(person.questions) == 1
    assert commands.commands == []


def test_the_ways_around_are_numbered_and_counted() -> None:
    numbers = [row[0] for row in PAGE.rows("The deny-list, and ways around it")]
    assert numbers == [str(number) for number in range(1, len(WAYS) + 1)]
    assert len(WAYS) == 11  # the text says eleven


# A decision is a value.


def test_each_cell_of_the_table_of_two_participants() -> None:
    rows = PAGE.rows("The strictest counts")
    words = [code_in(row[0]) for row in rows]
    assert words == [str(behaviour) for behaviour in Behaviour]
    for word, *cells in rows:
        for other, cell in zip(words, cells, strict=True):
            one = Decision(Behaviour(code_in(word)), "a reason", "one")
            two = Decision(Behaviour(other), "a reason", "two")
            assert str(combine([one, two]).behaviour) == cell.strip(), (word, other)


# Rules.


def test_the_rules_file_on_the_page_can_be_loaded(tmp_path: Path) -> None:
    rules_from(tmp_path, PAGE.block("a rules file"), MemoryFiles())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("tool_call", "becomes"),
    [
        (call("shell", command="git status --short"), "runs"),
        (call("shell", command="python -m pytest tests"), "runs"),
        (call("shell", command="git push origin main"), "denied"),
        (call("shell", command="git status | head"), "denied"),
        (call("shell", command="cat key.pem"), "asked"),
        (call("write_file", path="tests/test_a.py", content=""), "runs"),
        (call("write_file", path="src/a.py", content=""), "asked"),
        (call("write_file", path="tests/a.pem", content=""), "denied"),
        (call("read_file", path="a.pem"), "denied"),
        (call("read_file", path="src/a.py"), "runs"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.arguments,
)
async def test_what_the_rules_file_on_the_page_says(
    tool_call: ToolCall, becomes: str, tmp_path: Path
) -> None:
    files = MemoryFiles({"src/a.py": "", "a.pem": ""})
    person = FakeApprover("no")
    run = await run_script(
        ch03.plan,
        [says(tool_call), says("done")],
        files=files,
        approver=person,
        participants=(rules_from(tmp_path, PAGE.block("a rules file"), files),),
    )
    denied = run.results[0].code == "permission_denied"
    assert becomes == ("asked" if person.questions else "denied" if denied else "runs")


def test_what_a_broken_file_gets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        rules_from(Path(), PAGE.block("a broken rule"), MemoryFiles())
    assert f"{caught.value}\n" == PAGE.block("what it says")


# What a command prefix cannot promise.

TWO_RULES = ('behaviour = "allow"\ncommand = "git status"', 'behaviour = "deny"\ncommand = "rm"')
NOT_IN_A_TABLE = [
    ("git status\nrm -r src", "fits", "does not fit", "denies"),
    ("git status | sh", "fits", "does not fit", "denies"),
    ("git status `rm -r src`", "fits", "does not fit", "denies"),
    ("git status ~", "fits", "does not fit", "denies"),
    ("X=1 git status", "does not fit", "does not fit", "denies"),
]
PREFIXES = [
    (code_in(row[0]), *row[1:]) for row in PAGE.rows("What a command prefix cannot promise")
]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("command", "naive", "allow", "deny"),
    [*PREFIXES, *NOT_IN_A_TABLE],
    ids=lambda value: None if value in {"fits", "does not fit", "denies"} else repr(value),
)
async def test_what_becomes_of_a_command_under_the_two_rules(
    command: str, naive: str, allow: str, deny: str, tmp_path: Path
) -> None:
    assert command.startswith("git status") == (naive == "fits")
    allowing, denying = (
        rules_from(tmp_path, f"[[rule]]\n{rule}\n", MemoryFiles()) for rule in TWO_RULES
    )
    _, person, commands = await try_command(command, rules=allowing)
    assert (commands.commands == [command]) == (allow == "fits")
    assert len(person.questions) == (allow != "fits")
    run, person, commands = await try_command(command, rules=denying)
    assert commands.commands == []
    assert len(person.questions) == (deny != "denies")
    assert run.results[0].code == "permission_denied"


@pytest.mark.anyio
async def test_another_way_to_do_the_same_is_asked_about(tmp_path: Path) -> None:
    denying = rules_from(tmp_path, f"[[rule]]\n{TWO_RULES[1]}\n", MemoryFiles())
    section = PAGE.section("What a command prefix cannot promise")
    rows = re.findall(r"^\| (`[^|]+) \| (denied|asked) \|", section, re.MULTILINE)
    tried = [(command, row[1]) for row in rows for command in re.findall(r"`([^`]+)`", row[0])]
    assert len(rows) == 6
    for command, becomes in tried:
        _, person, commands = await try_command(command, rules=denying)
        assert (command, bool(person.questions)) == (command, becomes == "asked")
        assert commands.commands == []


# The question, the audit, and what does not hold.


@pytest.mark.anyio
async def test_nothing_in_a_call_can_act_on_the_terminal() -> None:
    person = FakeApprover("no")
    evil = "\x1b[2Jevil\u202e\u2028\r"
    await run_script(
        ch03.plan,
        [
            says(
                call("shell", command=evil),
                call("write_file", path="a.txt", content=evil),
                call("edit_file", path="a.txt", old_text="one", new_text=evil),
            ),
            says("done"),
        ],
        files=MemoryFiles({"a.txt": "one\n"}),
        approver=person,
    )
    assert len(person.questions) == 3
    for question in person.questions:
        assert r"\x1b[2Jevil\u202e\u2028\x0d" in question
        assert not set(evil) & set(question) - set("[2Jevil")


def test_the_answers_on_the_page_are_those_that_the_question_offers() -> None:
    offered = re.findall(r"^  ([yetn])  ", PAGE.block("the question"), re.MULTILINE)
    rows = [row[0] for row in PAGE.rows("The question")]
    assert [code_in(row) for row in rows[:4]] == offered


def test_the_reasons_of_the_ways_to_be_denied_are_the_codes_own() -> None:
    source = (CHAPTER / "question.py").read_text(encoding="utf-8")
    for _, reads in PAGE.rows("Ways to be denied"):
        assert code_in(reads).split(" and typed")[0] in source


@pytest.mark.anyio
async def test_a_secret_in_a_command_line_is_not_redacted() -> None:
    audit = MemoryAudit()
    command = "curl -H 'Authorization: hunter2' localhost"
    await run_script(
        ch03.plan,
        [says(call("shell", command=command)), says("done")],
        approver=FakeApprover("n"),
        audit=audit,
    )
    assert audit.entries[0]["arguments"] == {"command": command}


@pytest.mark.anyio
async def test_the_diff_is_of_the_moment_of_the_question() -> None:
    """The file changes while the person reads. What they saved meanwhile is replaced."""
    files = MemoryFiles({"a.txt": "one\n"})

    class SavesMeanwhile(Person):
        async def ask(self, question: str) -> str:
            await files.write_text("a.txt", "saved meanwhile\n")
            return await super().ask(question)

    person = SavesMeanwhile("y", "y")
    run = await run_script(
        ch03.plan,
        [
            says(call("write_file", path="a.txt", content="two\n")),
            says(call("edit_file", path="a.txt", old_text="two", new_text="three")),
            says("done"),
        ],
        files=files,
        approver=person,
    )
    assert "-one" in person.questions[0]
    assert [result.code for result in run.results] == [None, "text_not_found"]
    assert await files.read_text("a.txt") == "saved meanwhile\n"


# When it goes wrong.


async def refusal_of(tool_call: ToolCall, **kit: Any) -> str:
    """What the model reads after this call."""
    run = await run_script(ch03.plan, [says(tool_call), says("done")], **kit)
    return run.results[0].text


async def allowed_but_no_simple_command(folder: Path) -> str:
    rules = rules_from(folder, f"[[rule]]\n{TWO_RULES[0]}\n", MemoryFiles())
    _, person, _ = await try_command("git status | head", rules=rules)
    return person.questions[0]


async def deny_before_a_pipe(folder: Path) -> str:
    rules = rules_from(folder, f"[[rule]]\n{TWO_RULES[1]}\n", MemoryFiles())
    run, _, _ = await try_command("ls | head", rules=rules)
    return run.results[0].text


async def no_yes_of_the_question(folder: Path) -> str:
    return await refusal_of(call("shell", command="ls"), approver=FakeApprover("ok"))


async def no_terminal(folder: Path) -> str:
    nobody = TerminalApprover(LineReader(io.StringIO()), io.StringIO())
    return await refusal_of(call("shell", command="ls"), approver=nobody)


async def nobody_answers(folder: Path) -> str:
    class Asleep:
        async def ask(self, question: str) -> str:
            await asyncio.Event().wait()
            raise AssertionError

    session = SessionAnswers()
    questions = Questions(Asleep(), MemoryFiles(), session, patience=0.01)
    tool_call = call("shell", command="ls")
    prepared = prepare(shell(FakeCommands()), tool_call)
    asking = Decision(Behaviour.ASK, "Its effect is execute", "effect")
    return (await questions.settle(prepared, asking)).reason


async def same_call_again_and_again(folder: Path) -> str:
    tool_call = call("shell", command="ls")
    run = await run_script(
        ch03.plan, [*[says(tool_call)] * 4, says("done")], approver=FakeApprover("no")
    )
    return run.results[3].text


async def participant_that_raises(folder: Path) -> str:
    class Broken:
        name = "mine"

        async def decide(self, prepared: PreparedCall) -> Decision:
            raise KeyError("path")

    return await refusal_of(call("shell", command="ls"), participants=(Broken(),))


def what_the_loader_says(folder: Path, text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        rules_from(folder, text, MemoryFiles())
    return str(caught.value)


async def misspelled_key(folder: Path) -> str:
    return what_the_loader_says(folder, PAGE.block("a broken rule"))


async def backslash_in_a_path(folder: Path) -> str:
    return what_the_loader_says(folder, '[[rule]]\nbehaviour = "deny"\npath = "src\\*.pem"\n')


async def full_disk(folder: Path) -> str:
    audit = MemoryAudit(failure=OSError(28, "no space left"))
    return await refusal_of(call("shell", command="ls"), audit=audit)


async def kit_without_an_audit(folder: Path) -> str:
    with pytest.raises(ValueError, match="audit") as caught:
        ch03.plan(replace(fake_kit(), audit=None))
    return str(caught.value)


SYMPTOMS = [
    allowed_but_no_simple_command,
    deny_before_a_pipe,
    no_yes_of_the_question,
    no_terminal,
    nobody_answers,
    same_call_again_and_again,
    participant_that_raises,
    misspelled_key,
    backslash_in_a_path,
    full_disk,
    kit_without_an_audit,
]


@pytest.mark.anyio
@pytest.mark.parametrize("number", range(len(SYMPTOMS)), ids=lambda n: SYMPTOMS[n].__name__)
async def test_a_symptom_of_the_table_can_be_produced(number: int, tmp_path: Path) -> None:
    rows = PAGE.rows("When it goes wrong")
    assert len(rows) == len(SYMPTOMS)
    assert code_in(rows[number][0]) in await SYMPTOMS[number](tmp_path)


# What the page points to.


def test_the_exercises_on_the_page_are_those_there_are() -> None:
    named = re.findall(r"^- \[`03/(\w+)`\]", PAGE.section("Exercises"), re.MULTILINE)
    folders = [path.parent.name for path in CHAPTER.glob("exercises/*/solution.py")]
    assert sorted(named) == sorted(folders)


def test_every_test_the_page_names_exists() -> None:
    assert missing_tests(PAGE) == []


def test_every_relative_link_leads_somewhere() -> None:
    assert dead_links(PAGE) == []
