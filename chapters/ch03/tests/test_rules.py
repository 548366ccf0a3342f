"""The rules file: what you allow, ask about and deny, and that a mistake in it stops the start."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters import ch03
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.workspace import open_workspace
from chapters.ch03.rules import Rules, load_rules
from chapters.ch03.tests.calls import Person, in_turn, prepared
from chapters.ch03.tests.test_command_prefix import NOT_SIMPLE
from shared.decision import Behaviour, Decision
from shared.errors import ConfigError, ToolError
from shared.ports import Approver, WorkspaceFiles
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, run_script

pytestmark = pytest.mark.anyio


def rules(text: str, tmp_path: Path, files: WorkspaceFiles | None = None) -> Rules:
    path = tmp_path / "rules.toml"
    path.write_text(text, encoding="utf-8", newline="")
    return load_rules(path, files or MemoryFiles())


def rule(behaviour: str, **conditions: str) -> str:
    lines = [
        f"{key} = {json.dumps(value, ensure_ascii=False)}"
        for key, value in {"behaviour": behaviour, **conditions}.items()
    ]
    return "\n".join(["[[rule]]", *lines, ""])


async def decision(text: str, tmp_path: Path, tool: str, **arguments: object) -> Decision:
    return await rules(text, tmp_path).decide(prepared(tool, **arguments))


# What a rule is about


@pytest.mark.parametrize(
    ("conditions", "tool", "arguments", "fits"),
    [
        ({"tool": "shell"}, "shell", {"command": "ls"}, True),
        ({"tool": "shell"}, "glob", {"pattern": "*"}, False),
        ({"tool": "shel"}, "shell", {"command": "ls"}, False),
        ({"effect": "read"}, "glob", {"pattern": "*"}, True),
        ({"effect": "write"}, "glob", {"pattern": "*"}, False),
        ({"path": "src/**"}, "read_file", {"path": "src/a/b.py"}, True),
        ({"path": "src/**"}, "read_file", {"path": "./src//a.py"}, True),
        ({"path": "src/**"}, "read_file", {"path": "srcs/a.py"}, False),
        ({"path": "src"}, "read_file", {"path": "src/a.py"}, False),
        ({"path": "*.py"}, "read_file", {"path": "src/a.py"}, False),
        ({"path": "src/**"}, "shell", {"command": "cat src/a.py"}, False),
        ({"command": "git status"}, "shell", {"command": "git status -s"}, True),
        ({"command": "git status"}, "shell", {"command": "git  'status'"}, True),
        ({"command": "git 'status'"}, "shell", {"command": "git status"}, True),
        ({"command": "git status"}, "shell", {"command": "git push"}, False),
        ({"command": "git status"}, "read_file", {"path": "git status"}, False),
        ({"tool": "write_file", "path": "a"}, "read_file", {"path": "a"}, False),
        ({"effect": "read", "path": "a"}, "read_file", {"path": "a"}, True),
    ],
)
@pytest.mark.parametrize("behaviour", ["allow", "ask", "deny"])
async def test_a_rule_is_about_a_call_that_fits_all_it_says(
    conditions: dict[str, str],
    tool: str,
    arguments: dict[str, object],
    fits: bool,
    behaviour: str,
    tmp_path: Path,
) -> None:
    said = await decision(rule(behaviour, **conditions), tmp_path, tool, **arguments)
    assert said.behaviour == (behaviour if fits else "pass")
    assert said.by_person == fits
    assert said.source == ("rules, rule 1" if fits else "rules")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (["allow", "ask", "deny"], "deny"),
        (["deny", "ask", "allow"], "deny"),
        (["allow", "ask"], "ask"),
        (["ask", "allow"], "ask"),
        (["allow"], "allow"),
        ([], "pass"),
    ],
)
async def test_deny_before_ask_before_allow_whatever_the_order(
    order: list[str], expected: str, tmp_path: Path
) -> None:
    text = "".join(rule(behaviour, tool="shell", reason=behaviour) for behaviour in order)
    said = await decision(text, tmp_path, "shell", command="ls")
    assert said.behaviour == expected
    assert said.behaviour == "pass" or said.reason == expected
    assert said.behaviour == "pass" or said.source == f"rules, rule {order.index(expected) + 1}"


# Paths, however they are spelled


@pytest.mark.parametrize("behaviour", ["ask", "deny"])
@pytest.mark.parametrize("path", ["Secret.txt", "SECRET.TXT", "a/../secret.txt", "./secret.txt"])
async def test_a_strict_rule_sees_through_the_spelling(
    behaviour: str, path: str, tmp_path: Path
) -> None:
    said = await decision(rule(behaviour, path="secret.txt"), tmp_path, "read_file", path=path)
    assert said.behaviour == behaviour


async def test_an_allow_rule_takes_the_spelling_as_it_is(tmp_path: Path) -> None:
    said = await decision(rule("allow", path="a.txt"), tmp_path, "read_file", path="A.txt")
    assert said.behaviour is Behaviour.PASS


async def test_one_character_in_two_encodings_is_one_name_for_a_deny(tmp_path: Path) -> None:
    said = await decision(rule("deny", path="é.txt"), tmp_path, "read_file", path="e\u0301.txt")
    assert said.behaviour is Behaviour.DENY


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
@pytest.mark.parametrize(
    ("behaviour", "pattern", "path", "fits"),
    [
        ("deny", "secret/**", "link/a.txt", True),
        ("deny", "link/**", "link/a.txt", True),
        ("ask", "secret/**", "link/a.txt", True),
        ("allow", "secret/**", "link/a.txt", False),
        ("allow", "link/**", "link/a.txt", False),
        ("allow", "secret/**", "secret/a.txt", True),
        ("allow", "*/**", "link/a.txt", True),
    ],
)
async def test_a_link_has_two_spellings_and_an_allow_needs_both(
    behaviour: str, pattern: str, path: str, fits: bool, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "secret").mkdir(parents=True)
    (workspace / "link").symlink_to("secret")
    with open_workspace(workspace) as files:
        said = await rules(rule(behaviour, path=pattern), tmp_path, files).decide(
            prepared("write_file", path=path, content="")
        )
    assert said.behaviour == (behaviour if fits else "pass")


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize(
    "real", ["key:1.pem", "a:b/key.pem", "dot./key.pem", "con/key.pem", "/".join(["d"] * 70)]
)
@pytest.mark.parametrize("pattern", ["link*", "key*.pem", "*/key.pem", "d/**"])
async def test_a_strict_rule_knows_a_real_path_that_no_call_could_spell(
    real: str, pattern: str, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / real).parent.mkdir(parents=True)
    (workspace / real).write_text("key")
    (workspace / "link.pem").symlink_to(real)
    expected = pattern == "link*" or {
        "key:1.pem": pattern == "key*.pem",
        "/".join(["d"] * 70): pattern == "d/**",
    }.get(real, pattern == "*/key.pem")
    with open_workspace(workspace) as files:
        for behaviour in ("ask", "deny"):
            said = await rules(rule(behaviour, path=pattern), tmp_path, files).decide(
                prepared("read_file", path="link.pem")
            )
            assert said.behaviour == (behaviour if expected else "pass")


async def test_a_path_rule_does_not_see_the_pattern_of_glob(tmp_path: Path) -> None:
    said = await decision(rule("deny", path="secret/**"), tmp_path, "glob", pattern="secret/**")
    assert said.behaviour is Behaviour.PASS


class Unknown(MemoryFiles):
    """Files of which nobody can tell where a path leads."""

    async def resolve(self, path: str) -> str:
        """Fail."""
        raise ToolError("permission_denied_by_os", "The folder cannot be searched.")


@pytest.mark.parametrize("pattern", ["a.txt", "b.txt"])
async def test_where_a_path_leads_nobody_knows_a_strict_rule_fits_and_an_allow_does_not(
    pattern: str, tmp_path: Path
) -> None:
    for behaviour, expected in (("allow", "pass"), ("ask", "ask"), ("deny", "deny")):
        text = rule(behaviour, path=pattern, reason="it is mine.")
        said = await rules(text, tmp_path, Unknown()).decide(prepared("read_file", path="a.txt"))
        assert said.behaviour == expected
        doubt = "it is mine (where this path leads cannot be told, so the rule may apply)"
        assert (said.reason == doubt) == (pattern == "b.txt" and behaviour != "allow")


@pytest.mark.parametrize(
    ("pattern", "path"),
    [("[!a-z]*", "A.txt"), ("?.txt", "ß.txt"), ("[A-Z].txt", "B.txt"), ("ß*", "ß.txt")],
)
async def test_a_strict_rule_misses_no_name_that_its_pattern_fits_as_it_is(
    pattern: str, path: str, tmp_path: Path
) -> None:
    for behaviour in ("allow", "ask", "deny"):
        said = await decision(rule(behaviour, path=pattern), tmp_path, "read_file", path=path)
        assert said.behaviour == behaviour


# Commands


@pytest.mark.parametrize(
    "command", [each for each in NOT_SIMPLE if each.strip() and "\0" not in each]
)
async def test_a_command_that_is_not_simple_is_never_allowed_and_always_suspected(
    command: str, tmp_path: Path
) -> None:
    for behaviour, expected in (("allow", "pass"), ("ask", "ask"), ("deny", "deny")):
        text = rule(behaviour, command="git")
        assert (await decision(text, tmp_path, "shell", command=command)).behaviour == expected


async def test_a_rule_that_only_may_apply_says_so(tmp_path: Path) -> None:
    text = rule("deny", command="git push", reason="only a person publishes.")
    doubtful = await decision(text, tmp_path, "shell", command="ls | head")
    assert doubtful.reason == (
        "only a person publishes (this is not one simple command, so the rule may apply)"
    )
    plain = await decision(text, tmp_path, "shell", command="git push origin")
    assert plain.reason == "only a person publishes."


async def test_an_allowed_prefix_runs_one_command_and_nothing_behind_it(tmp_path: Path) -> None:
    commands, approver = FakeCommands(), FakeApprover("no")
    sent = ["git status", "git status && rm -r .", "git status; rm x", "git push"]
    await run_script(
        ch03.plan,
        [says(*[call("shell", command=each) for each in sent]), says("done")],
        commands=commands,
        approver=approver,
        participants=(rules(rule("allow", command="git status"), tmp_path),),
    )
    assert commands.commands == ["git status"]
    assert len(approver.questions) == 3


# What a rule cannot do


async def run(text: str, tmp_path: Path, approver: Approver, *sent: str) -> FakeCommands:
    commands = FakeCommands()
    await run_script(
        ch03.plan,
        [says(*[call("shell", command=each) for each in sent]), says("done")],
        commands=commands,
        approver=approver,
        participants=(rules(text, tmp_path),),
    )
    return commands


async def test_no_rule_widens_the_boundary(tmp_path: Path) -> None:
    everything = "".join(rule("allow", effect=effect) for effect in ("read", "write", "execute"))
    audit, approver = MemoryAudit(), FakeApprover("tool")
    recording = await run_script(
        ch03.plan,
        [says(call("write_file", path="../a.txt", content="x")), says("done")],
        files=MemoryFiles(),
        approver=approver,
        audit=audit,
        participants=(rules(everything, tmp_path),),
    )
    assert recording.results[0].code == "permission_denied"
    assert audit.entries[0]["source"] == "boundary"
    assert approver.questions == []


@pytest.mark.parametrize("path", ["../**", "/etc/*", "a/../../b", "C:/x", "~/x", "a\\b", ""])
def test_a_pattern_that_leads_outside_is_no_rule(path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"path: .* line 3, column 1"):
        rules(rule("allow", path=path), tmp_path)


async def test_an_allow_in_the_file_spares_the_question(tmp_path: Path) -> None:
    approver = FakeApprover("no")
    commands = await run(rule("allow", tool="shell"), tmp_path, approver, "ls")
    assert commands.commands == ["ls"]
    assert approver.questions == []


async def test_a_deny_in_the_file_is_stronger_than_any_yes(tmp_path: Path) -> None:
    text = rule("deny", command="rm", reason="nothing is removed here.")
    commands = await run(text, tmp_path, in_turn("t"), "ls", "rm x", "ls; rm x", "pwd")
    assert commands.commands == ["ls", "pwd"]


async def test_an_ask_in_the_file_asks_every_time_whatever_was_answered(tmp_path: Path) -> None:
    text = rule("allow", tool="shell") + rule("ask", command="git push", reason="it is public")
    person = in_turn("t", "n")
    commands = await run(text, tmp_path, person, "ls", "git push", "git push", "pwd")
    assert commands.commands == ["ls", "git push", "pwd"]
    assert all("? it is public.\n" in question for question in person.questions)


async def test_an_ask_for_a_tool_that_reads_makes_it_ask(tmp_path: Path) -> None:
    said = await decision(rule("ask", tool="read_file"), tmp_path, "read_file", path="a")
    assert said.behaviour is Behaviour.ASK


async def test_the_reason_of_a_rule_reaches_the_model(tmp_path: Path) -> None:
    text = rule("deny", command="rm", reason="use mv to .trash")
    recording = await run_script(
        ch03.plan,
        [says(call("shell", command="rm x")), says("done")],
        participants=(rules(text, tmp_path),),
        approver=Person(lambda question: "y"),
    )
    assert "Denied by rules, rule 1: use mv to .trash. Do not" in recording.results[0].text


# A file that is broken, and one that is not

HEAD = '[[rule]]\nbehaviour = "deny"\ntool = "shell"\n\n'


@pytest.mark.parametrize(
    ("text", "line", "column", "word"),
    [
        ("[[rule]\n", 1, 7, "Expected"),
        (f"{HEAD}[[rule]]\nbehaviour = \n", 6, 13, "Invalid value"),
        (f"{HEAD}[[rule]]\nbehaviour = 'x", 6, 15, "Expected"),
        (f"{HEAD}[[rule]]\nbehaviour = ", 6, 13, "Invalid value"),
        ("a = 1\na = 2\n", 2, 6, "Cannot overwrite"),
        (f"{HEAD}[[rule]]\n  behaviour = 'perhaps'\ntool = 'a'\n", 6, 3, "behaviour"),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\ntool = 3\n", 7, 1, "tool"),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\n\"tool\" = ''\n", 7, 1, "tool"),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\neffect = 'destroy'\n", 7, 1, "effect"),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\ncommand = 'a && b'\n", 7, 1, "one simple command"),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\npath = '../x'\n", 7, 1, "leads? out"),
        (
            f"{HEAD}[[rule]]\nbehaviour = 'allow'\ncommnad = 'x'\n",
            7,
            1,
            "commnad: there is no such",
        ),
        (f"{HEAD}[[rule]]\nbehaviour = 'allow'\n", 5, 1, "at least one of"),
        (f"{HEAD}[[rule]]\ntool = 'x'\n", 5, 1, "behaviour: Field required"),
        (f"{HEAD}[rule.deep]\nx = 1\n", 5, 1, "deep: there is no such"),
        ("# mine\nrule = 3\n", 2, 1, "double brackets"),
        ("\n[rule]\nbehaviour = 'deny'\n", 2, 1, "double brackets"),
        ("rule = [3]\n", 1, 1, "rule"),
        ("rule = [{behaviour = 'deny', tool = 3}]\n", 1, 30, "tool"),
        (
            f"{HEAD}[[rule]]\n# tool = 3\nreason = 'a, tool = 3'\nbehaviour = 'deny'\ntool = 3\n",
            9,
            1,
            "tool",
        ),
        ("\n[[rules]]\nbehaviour = 'deny'\n", 2, 1, "rules: there is no such key"),
        ("\nrules = []\n", 2, 1, "rules: there is no such key"),
        ("x.y = 1\n", 1, 1, "x: there is no such key"),
        ("x = " + "[" * 5_000, 1, 1, "deeply|Invalid"),
        (f"\nx = {'1' * 5_000}\n", 2, 5, "number is too long"),
        (f"{HEAD}[[rule]]\nbehaviour = 'deny'\npath = 'a'\ncommand = 'b'\n", 5, 1, "two rules"),
        (f"{HEAD}[[rule]]\nbehaviour = 'deny'\npath = '*.{{pem,key}}'\n", 7, 1, "braces mean"),
        (
            f'[[rule]]\nbehaviour="deny"\ntool="a"\nreason = """\n[[rule]]\n"""\n{HEAD}effect=1',
            11,
            1,
            "effect",
        ),
        (
            f"[[rule]]\nbehaviour = 'deny'\nreason = '''\ntool = 3\n''' # \"\"\"\ntool = 3\n{HEAD}",
            6,
            1,
            "tool",
        ),
    ],
)
def test_a_broken_file_stops_the_start_and_says_where(
    text: str, line: int, column: int, word: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=word) as caught:
        rules(text, tmp_path)
    message = str(caught.value)
    assert message.startswith(str(tmp_path / "rules.toml"))
    assert f"(at line {line}, column {column})" in message
    assert message.endswith(". Correct the file: nothing runs with broken rules.")
    assert ". (at" not in message
    assert "\n" not in message


async def test_a_brace_in_brackets_is_a_brace(tmp_path: Path) -> None:
    text = rule("deny", path="[{]x[}]/**")
    said = await decision(text, tmp_path, "read_file", path="{x}/a")
    assert said.behaviour is Behaviour.DENY


def test_lines_that_end_as_on_windows_count_the_same(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 6, column 1"):
        rules(f"{HEAD}[[rule]]\nbehaviour = 'x'\n".replace("\n", "\r\n"), tmp_path)


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "rule = []\n", "\ufeff"])
async def test_a_file_without_rules_has_nothing_to_say(text: str, tmp_path: Path) -> None:
    said = await decision(text, tmp_path, "shell", command="ls")
    assert said.behaviour is Behaviour.PASS


async def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    said = await decision("\ufeff" + HEAD, tmp_path, "shell", command="ls")
    assert said.behaviour is Behaviour.DENY


def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes("# ä\n".encode() + b"# \xe9")
    for path, word in (
        (tmp_path / "gone", "No such file"),
        (tmp_path, "directory|denied"),
        (tmp_path / "latin", "not UTF-8 .at line 2, column 3.*Save the file as UTF-8"),
    ):
        with pytest.raises(ConfigError, match=word):
            load_rules(path, MemoryFiles())


TOKENS = st.one_of(
    st.sampled_from(["[[rule]]", "[rule]", "rule", "behaviour", "tool", "path", "'deny'", "'..'"]),
    st.sampled_from("={}[].,\"'#x3\\é\n\r \ufeff\x00"),
    st.just("\r\n"),
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(TOKENS, max_size=12).map("".join))
def test_whatever_is_in_the_file_it_is_rules_or_a_mistake_with_a_place(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            rules(text, Path(folder))
        except ConfigError as error:
            found = re.search(r"\(at line (\d+), column (\d+)\)", str(error))
            assert found
            line, column = map(int, found.groups())
            lines = re.sub("\r\n?", "\n", text).removeprefix("\ufeff").split("\n")
            assert 1 <= line <= len(lines)
            assert 1 <= column <= len(lines[line - 1]) + 2
