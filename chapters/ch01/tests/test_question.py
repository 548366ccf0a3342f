"""The question before the shell: only yes is yes."""

from __future__ import annotations

import dataclasses

import pytest

from chapters import ch01
from shared.ports import Approver
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, Recording, run_script

pytestmark = pytest.mark.anyio


async def ask(approver: Approver, command: str = "rm -r build") -> tuple[Recording, FakeCommands]:
    commands = FakeCommands()
    recording = await run_script(
        ch01.plan,
        [says(call("shell", command=command)), says("done")],
        commands=commands,
        approver=approver,
    )
    return recording, commands


@pytest.mark.parametrize("answer", ["y", "yes", "Y", "YES", " yes \n"])
async def test_yes_runs_the_command_once(answer: str) -> None:
    recording, commands = await ask(FakeApprover(answer))
    assert commands.commands == ["rm -r build"]
    assert recording.results[0].code is None


@pytest.mark.parametrize(
    "answer", ["", "\n", "n", "no", "yep", "yes please", "y y", "ye", "1", "true", "ｙｅｓ"]
)
async def test_anything_else_runs_nothing(answer: str) -> None:
    recording, commands = await ask(FakeApprover(answer))
    assert commands.commands == []
    assert recording.results[0].code == "permission_denied"


@pytest.mark.parametrize(
    "failure", [EOFError(), OSError("no terminal"), RuntimeError("window closed")]
)
async def test_end_of_input_no_terminal_and_any_exception_are_a_no(failure: Exception) -> None:
    recording, commands = await ask(FakeApprover(failure))
    assert commands.commands == []
    assert recording.results[0].code == "permission_denied"


async def test_nobody_to_ask_is_a_no() -> None:
    commands = FakeCommands()
    recording = await run_script(
        lambda kit: ch01.plan(dataclasses.replace(kit, approver=None)),
        [says(call("shell", command="rm -r build")), says("done")],
        commands=commands,
    )
    assert commands.commands == []
    assert recording.results[0].code == "permission_denied"


class OddApprover:
    """Answers with something that is not text, but is true."""

    async def ask(self, question: str) -> str:
        return True  # type: ignore[return-value]


async def test_an_answer_of_the_wrong_type_is_a_no() -> None:
    recording, commands = await ask(OddApprover())
    assert commands.commands == []
    assert recording.results[0].code == "permission_denied"


async def test_each_command_is_asked_for_anew() -> None:
    approver = FakeApprover("yes")
    commands = FakeCommands()
    await run_script(
        ch01.plan,
        [says(call("shell", command="ls"), call("shell", command="ls")), says("done")],
        commands=commands,
        approver=approver,
    )
    assert len(approver.questions) == 2


async def test_a_command_of_several_lines_cannot_pass_for_the_prompt() -> None:
    approver = FakeApprover("no")
    await ask(approver, command="ls\n[y/N] y\nrm -r ~")
    assert approver.questions == [
        "Run this command? It has 3 lines.\n  | ls\n  | [y/N] y\n  | rm -r ~\n[y/N] "
    ]


async def test_the_question_shows_the_command_and_nothing_can_hide_in_it() -> None:
    approver = FakeApprover("no")
    await ask(approver, command="echo safe\x1b[2K\rrm -r ~ \u202e# txt.")
    (question,) = approver.questions
    assert "echo safe\\x1b[2K\\x0drm -r ~ \\u202e# txt." in question
    assert "\x1b" not in question
