"""A list of dangerous words: the ways around it, and what asks all the same."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from chapters import ch03
from chapters.ch03.effect_rules import EffectRules
from chapters.ch03.naive_deny_list import looks_dangerous
from chapters.ch03.tests.calls import prepared
from shared.decision import Behaviour
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, run_script

pytestmark = pytest.mark.anyio

# Each of them removes the file `victim` of the directory it runs in, and nothing else.
WAYS_AROUND = {
    "a tab for the space": "rm\tvictim",
    "a variable for the space": "rm${IFS}victim",
    "braces for the space": "{rm,victim}",
    "quotes within the word": "r''m victim",
    "a backslash within the word": "r\\m victim",
    "a backslash before the line break": "r\\\nm victim",
    "a variable for the program": "r=rm; $r victim",
    "a variable for a letter": "x=m; r$x victim",
    "an empty variable within the word": "r${nothing}m victim",
    "a command put together by another": "$(printf 'r%s' m) victim",
    "a command written backwards": "$(echo mr | rev) victim",
    "a command in octal": "$(printf '\\162\\155') victim",
    "a script from a pipe": "printf 'r%s victim' m | sh",
    "a pattern for the name of the program": "/bin/r[m] victim",
    "another program": "unlink victim",
    "the search for files": "find . -name victim -delete",
    "a copy over it": "cp /dev/null victim",
    "emptied, not removed": ": > victim",
    "another language": f"{shlex.quote(sys.executable)} -c 'import os; os.unlink(\"victim\")'",
}


@pytest.mark.skipif(sys.platform == "win32", reason="written for bash")
@pytest.mark.parametrize("way", WAYS_AROUND)
def test_the_list_lets_it_through_and_the_file_is_gone(way: str, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None or ("rev" in WAYS_AROUND[way] and shutil.which("rev") is None):
        pytest.skip("a program is missing")
    victim = tmp_path / "victim"
    victim.write_text("precious", encoding="utf-8")
    assert not looks_dangerous(WAYS_AROUND[way])
    subprocess.run(
        [bash, "-c", "--", WAYS_AROUND[way]],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert not victim.exists() or victim.read_text(encoding="utf-8") == ""
    assert set(tmp_path.iterdir()) <= {victim}


@pytest.mark.parametrize("command", ["echo 'rm is a word'", "grep 'confirm it' a.txt", "warm up"])
def test_and_it_stops_what_does_no_harm(command: str) -> None:
    assert looks_dangerous(command)


@pytest.mark.parametrize("way", WAYS_AROUND)
async def test_the_effect_of_the_tool_asks_whatever_the_words_are(way: str) -> None:
    decision = await EffectRules().decide(prepared("shell", command=WAYS_AROUND[way]))
    assert decision.behaviour is Behaviour.ASK


async def test_none_of_the_ways_runs_before_somebody_was_asked() -> None:
    commands, approver = FakeCommands(), FakeApprover("no")
    await run_script(
        ch03.plan,
        [says(*[call("shell", command=way) for way in WAYS_AROUND.values()]), says("done")],
        commands=commands,
        approver=approver,
    )
    assert len(approver.questions) == len(WAYS_AROUND)
    assert commands.commands == []
