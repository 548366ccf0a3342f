"""One simple command, or none that can be judged."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chapters.ch03.command_prefix import begins_with, may_begin_with, simple_words

NOT_SIMPLE = [
    "git status; rm x",
    "git status && rm x",
    "git status || rm x",
    "git status | sh",
    "git status & rm x",
    "git status\nrm x",
    "git status\r\nrm x",
    "git status $(rm x)",
    "git status `rm x`",
    'git status "$(rm x)"',
    'git status "`rm x`"',
    "git status ${IFS}",
    "git status $HOME",
    "git status > x",
    "git status >x",
    "git status < x",
    "git status <(rm x)",
    "git status *",
    "git status a?",
    "git status [a]",
    "git status {a,b}",
    "git status ~",
    "git status # x",
    "git status !x",
    "git status \\; rm",
    "git status 'a'b",
    "git status a'b c'",
    "git status 'a",
    'git status "a',
    "git status 'a\" b",
    "git\tstatus",
    "git status\x00",
    "git status\x0brm",
    "git status\u00a0x",
    "git\u2003status",
    "ｇｉｔ status",
    "git status －x",
    "PATH=. git status",
    "a+=b git status",
    "time git status",
    "coproc git status",
    "! git status",
    "'git' status",
    '"git" status',
    "(git status)",
    "{ git status; }",
    "git status %PATH%",
    "git status --% & rm x",
    "git status @args",
    "git status ^& rm x",
    "git status, x",
    "& git status",
    "-x git",
    "@x",
    "",
    " ",
    "\n",
]


@pytest.mark.parametrize("command", NOT_SIMPLE)
def test_what_is_not_one_simple_command_is_never_allowed_and_always_suspected(command: str) -> None:
    assert simple_words(command) is None
    assert begins_with(command, ("git",)) is None
    assert may_begin_with(command, ("git",))
    assert may_begin_with(command, ("rm",))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ls", ["ls"]),
        ("  git   status  ", ["git", "status"]),
        ("git commit -m 'two words'", ["git", "commit", "-m", "two words"]),
        ('git commit -m "two words"', ["git", "commit", "-m", "two words"]),
        ("python -m pytest tests/a.py::b", ["python", "-m", "pytest", "tests/a.py::b"]),
        ("git clone git@example.org:a/b.git", ["git", "clone", "git@example.org:a/b.git"]),
        ("make CC=gcc", ["make", "CC=gcc"]),
        ("./run.sh --x=1", ["./run.sh", "--x=1"]),
    ],
)
def test_the_words_of_a_simple_command(command: str, words: list[str]) -> None:
    assert simple_words(command) == tuple(words)


@pytest.mark.parametrize(
    "command", ["git", "git push", "gitstatus", "git statusx", "git 'status x'", "./git status"]
)
def test_a_prefix_is_made_of_whole_words(command: str) -> None:
    assert begins_with(command, ("git", "status")) is False
    assert begins_with("git status -s", ("git", "status")) is True


@pytest.mark.parametrize("command", ["rm x", "/bin/rm x", "RM x", "rm.exe x", "bin/Rm.EXE x"])
def test_a_denied_program_is_found_wherever_it_lies_and_however_it_is_spelled(command: str) -> None:
    assert may_begin_with(command, ("rm",))
    assert not may_begin_with("echo rm", ("rm",))


def test_a_very_long_command_is_judged_at_once() -> None:
    assert begins_with("git " + "a " * 100_000 + ";", ("git",)) is None
    assert begins_with("git " + "a " * 100_000, ("git",)) is True


# What a shell may read something into, plain words, and what separates them.
PIECES = st.sampled_from(
    [*" \t\n\r'\"\\;&|<>(){}[]$`!#~*?^%@,=+-./:_a1", "git", "status", "rm", "$(", "&&", "\u2028"]
)
COMMANDS = st.lists(PIECES, max_size=12).map(lambda pieces: "git " + "".join(pieces))
ACCEPTED = st.lists(
    st.one_of(
        st.text("ab1_./:=+-", min_size=1, max_size=4),
        st.text("ab @:=+-", min_size=1, max_size=4).map("'{}'".format),
        st.text("ab @:=+-", min_size=1, max_size=4).map('"{}"'.format),
    ),
    max_size=4,
).map(lambda words: " ".join(["git", *words]))

SPECIAL_TO_POWERSHELL = set("\t\n\r;&|<>(){}[]$`!#~*?^%,\\\u2018\u2019\u201c\u201d\u2013\u2014")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.one_of(COMMANDS, st.text(max_size=12).map("git {}".format)))
def test_no_character_that_a_shell_gives_a_meaning_gets_through(command: str) -> None:
    if begins_with(command, ("git",)):
        assert SPECIAL_TO_POWERSHELL.isdisjoint(command)
        assert command.isascii()
        assert command.isprintable()


def words_bash_sees(bash: str, commands: list[str]) -> list[list[str]]:
    """Run each command in a bash in which `git` prints its words and nothing else can start."""
    script = "".join(f"{command}\nbuiltin printf '\\1'\n" for command in commands)
    prelude = "git() { builtin printf '%s\\0' git \"$@\"; }\n"
    done = subprocess.run(
        [bash, "--noprofile", "--norc", "-r", "-c", prelude + script],
        capture_output=True,
        env={"PATH": "/nowhere"},
        timeout=20,
        check=False,
    )
    assert done.stderr == b""
    return [text.split("\0")[:-1] for text in done.stdout.decode().split("\1")[:-1]]


@pytest.mark.skipif(sys.platform == "win32", reason="bash is the judge")
def test_bash_sees_the_very_same_words_and_nothing_else() -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    accepted: list[str] = []

    @settings(max_examples=300, deadline=None, derandomize=True, database=None)
    @given(st.one_of(COMMANDS, ACCEPTED))
    def collect(command: str) -> None:
        if begins_with(command, ("git",)):
            accepted.append(command)

    collect()
    assert len(accepted) > 50
    assert words_bash_sees(bash, accepted) == [list(simple_words(each) or ()) for each in accepted]
