"""The question: one at a time, worth reading, and everything but a yes is a no."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from chapters import ch03
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.workspace import open_workspace
from chapters.ch03.question import MAX_REASON, Answer, Questions, understand
from chapters.ch03.session import ENOUGH, Scope, SessionAnswers
from chapters.ch03.tests.calls import Person, in_turn, prepared
from shared.decision import Behaviour, Decision
from shared.messages import ToolCall
from shared.ports import Approver
from shared.scripted import call, says
from shared.testing import FakeApprover, FakeCommands, MemoryAudit, Recording, run_script

pytestmark = pytest.mark.anyio

ASKED = Decision(Behaviour.ASK, "Its effect is execute", "effect")


async def run(
    approver: Approver, *calls: ToolCall, files: MemoryFiles | None = None
) -> tuple[Recording, FakeCommands, MemoryAudit]:
    """Chapter 3's agent with these calls, one after another."""
    commands, audit = FakeCommands(), MemoryAudit()
    recording = await run_script(
        ch03.plan,
        [says(*calls), says("done")],
        commands=commands,
        approver=approver,
        audit=audit,
        files=files or MemoryFiles({"a.txt": "old\n"}),
    )
    assert recording.error is None
    return recording, commands, audit


def questions(approver: Approver, patience: float = 5) -> Questions:
    return Questions(approver, MemoryFiles(), SessionAnswers(), patience=patience)


# What an answer means


@pytest.mark.parametrize(
    ("typed", "scope"),
    [
        ("y", Scope.ONCE),
        (" YES \n", Scope.ONCE),
        ("e", Scope.PATTERN),
        ("Exactly", Scope.PATTERN),
        ("t", Scope.TOOL),
        ("tool", Scope.TOOL),
    ],
)
def test_what_is_a_yes(typed: str, scope: Scope) -> None:
    assert understand(typed) == Answer(scope)


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("", ""),
        ("\n", ""),
        ("n", ""),
        ("no", ""),
        ("N use mv", "use mv"),
        ("no: use mv", "use mv"),
        ("no, use mv", "use mv"),
        ("use mv", "use mv"),
        ("yes please", "yes please"),
        ("y t", "y t"),
        ("ye", "ye"),
        ("N", ""),
        ("1", "1"),
        ("?", "?"),
        ("ｙ", "ｙ"),
        ("y\u200b", "y\u200b"),
    ],
)
def test_everything_else_is_a_no_with_what_was_typed_as_its_reason(typed: str, reason: str) -> None:
    assert understand(typed) == Answer(None, reason)


@pytest.mark.parametrize("answer", [None, True, 1, b"yes", ["yes"]])
def test_what_is_no_text_is_no_answer(answer: object) -> None:
    assert understand(answer) is None


# The ways of being denied


class Odd:
    """Answers with something that is true, but no text."""

    async def ask(self, question: str) -> str:
        return True  # type: ignore[return-value]


class Silent:
    """Abstains: returns nothing."""

    async def ask(self, question: str) -> str:
        return None  # type: ignore[return-value]


class Asleep:
    """Never answers."""

    async def ask(self, question: str) -> str:
        await asyncio.Event().wait()
        raise AssertionError("never reached")


@pytest.mark.parametrize(
    ("approver", "why"),
    [
        (FakeApprover(RuntimeError("the window is closed")), "nobody could be asked"),
        (FakeApprover(OSError("no terminal")), "nobody could be asked"),
        (FakeApprover(EOFError()), "the input ended"),
        (FakeApprover(TimeoutError()), "nobody answered in time"),
        (Odd(), "could not be read"),
        (Silent(), "could not be read"),
        (FakeApprover(""), "the user said no"),
        (FakeApprover("no"), "the user said no"),
        (FakeApprover("yes, of course"), "the user said no"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_no_answer_and_no_yes_are_a_no(approver: Approver, why: str) -> None:
    recording, commands, audit = await run(approver, call("shell", command="ls"))
    (result,) = recording.results
    assert commands.commands == []
    assert result.code == "permission_denied"
    assert why in result.text
    assert [line["decision"] for line in audit.entries] == ["deny"]
    assert "window is closed" not in result.text


async def test_a_person_who_does_not_answer_in_time_has_said_no() -> None:
    settling = questions(Asleep(), patience=0).settle(prepared("shell", command="ls"), ASKED)
    decision = await asyncio.wait_for(settling, timeout=5)
    assert decision.behaviour is Behaviour.DENY
    assert decision.reason == "nobody answered in time"
    assert not decision.by_person


async def test_after_a_question_without_an_answer_the_next_one_can_be_asked() -> None:
    def first_fails(question: str) -> str:
        if len(person.questions) == 1:
            raise OSError("gone for a moment")
        return "y"

    person = Person(first_fails)
    _, commands, _ = await run(person, *[call("shell", command="ls")] * 2)
    assert commands.commands == ["ls"]


# How far a yes reaches


async def test_one_yes_covers_exactly_one_call() -> None:
    person = in_turn("y", "n")
    _, commands, _ = await run(person, *[call("shell", command="ls")] * 2)
    assert commands.commands == ["ls"]
    assert len(person.questions) == 2


async def test_yes_to_exactly_this_covers_these_arguments_and_no_others() -> None:
    person = in_turn("e", "n", "n")
    commands_sent = ["ls", "ls", "ls -a", "ls "]
    _, commands, audit = await run(person, *[call("shell", command=each) for each in commands_sent])
    assert commands.commands == ["ls", "ls"]
    assert len(person.questions) == 3
    assert [line["source"] for line in audit.entries] == ["user", "session", "user", "user"]
    assert [line["who"] for line in audit.entries] == ["person", "policy", "person", "person"]


async def test_yes_to_a_change_covers_the_same_tool_on_the_same_file() -> None:
    person = in_turn("e", "n", "n")
    files = MemoryFiles({"a.txt": "old\n"})
    await run(
        person,
        call("write_file", path="a.txt", content="1"),
        call("write_file", path="a.txt", content="2"),
        call("write_file", path="b.txt", content="3"),
        call("edit_file", path="a.txt", old_text="2", new_text="4"),
        files=files,
    )
    assert files.files == {"a.txt": b"2"}
    assert 'always: write_file on "a.txt", whatever is written' in person.questions[0]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
async def test_yes_to_a_file_ends_when_its_name_leads_to_another_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).write_text("old")
    link = tmp_path / "link"
    link.symlink_to("one")

    def always_and_then_no(question: str) -> str:
        return "e" if len(person.questions) == 1 else "n"

    person = Person(always_and_then_no)
    with open_workspace(tmp_path) as files:
        session = SessionAnswers(files)
        asking = Questions(person, files, session)
        write = prepared("write_file", path="link", content="new")
        await asking.settle(write, ASKED)
        assert (await session.decide(write)).behaviour is Behaviour.ALLOW
        link.unlink()
        link.symlink_to("two")
        assert (await session.decide(write)).behaviour is Behaviour.PASS
        assert (await asking.settle(write, ASKED)).behaviour is Behaviour.DENY
    assert len(person.questions) == 2


async def test_the_audit_calls_a_yes_as_the_menu_does() -> None:
    _, _, audit = await run(in_turn("e"), call("shell", command="ls"))
    assert audit.entries[0]["reason"] == "the user said yes (exactly)"


async def test_yes_to_a_tool_covers_all_its_calls_and_no_other_tool() -> None:
    person = in_turn("t", "n")
    _, commands, _ = await run(
        person,
        call("shell", command="ls"),
        call("shell", command="rm x; true"),
        call("write_file", path="a.txt", content="1"),
    )
    assert commands.commands == ["ls", "rm x; true"]
    assert len(person.questions) == 2


async def test_a_yes_for_the_whole_session_does_not_open_the_way_out() -> None:
    person = in_turn("t")
    files = MemoryFiles()
    recording, _, _ = await run(
        person,
        call("write_file", path="a.txt", content="1"),
        call("write_file", path="../a.txt", content="2"),
        files=files,
    )
    assert "path_escape" in recording.results[1].text
    assert files.files == {"a.txt": b"1"}


async def test_a_session_is_over_with_the_agent() -> None:
    await run(in_turn("t"), call("shell", command="ls"))
    person = in_turn("n")
    await run(person, call("shell", command="ls"))
    assert len(person.questions) == 1


async def test_who_wants_to_be_asked_every_time_is_offered_no_always() -> None:
    wish = Decision(Behaviour.ASK, "you want to know", "rules", by_person=True)
    person = in_turn("t", "n")
    asking = questions(person)
    assert (await asking.settle(prepared("shell", command="ls"), wish)).reason.endswith("(once)")
    assert (await asking.settle(prepared("shell", command="ls"), wish)).behaviour is Behaviour.DENY
    assert all("always" not in text and text.endswith("[y/N] ") for text in person.questions)


async def test_a_yes_given_while_it_waited_does_not_answer_who_wants_to_be_asked() -> None:
    wish = Decision(Behaviour.ASK, "you want to know", "rules", by_person=True)
    slow = Slow("t", "n")
    asking = questions(slow)
    calls = [prepared("shell", command="ls"), prepared("shell", command="git push")]
    first, second = await asyncio.gather(
        asking.settle(calls[0], ASKED), asking.settle(calls[1], wish)
    )
    assert (first.behaviour, second.behaviour) == (Behaviour.ALLOW, Behaviour.DENY)
    assert len(slow.questions) == 2


# A call that is denied again and again


async def test_after_three_times_no_to_the_same_call_nobody_is_asked_again() -> None:
    person = in_turn(*["n"] * ENOUGH, "y")
    calls = [call("shell", command="rm x")] * (ENOUGH + 2)
    recording, commands, audit = await run(person, *calls, call("shell", command="ls"))
    assert commands.commands == ["ls"]
    assert len(person.questions) == ENOUGH + 1
    assert ENOUGH == 3
    assert "3 times and is not asked again" in recording.results[ENOUGH].text
    assert [line["decision"] for line in audit.entries] == ["deny"] * (ENOUGH + 2) + ["allow"]


async def test_a_yes_in_between_starts_the_count_anew() -> None:
    answers = ["n", "n", "y", "n", "n", "y"]
    person = in_turn(*answers)
    _, commands, _ = await run(person, *[call("shell", command="ls")] * len(answers))
    assert commands.commands == ["ls", "ls"]


async def test_a_question_nobody_answered_does_not_count_as_a_no() -> None:
    approver = FakeApprover(EOFError())
    await run(approver, *[call("shell", command="ls")] * (ENOUGH + 2))
    assert len(approver.questions) == ENOUGH + 2


# A reason


async def test_the_reason_for_a_no_reaches_the_model_as_a_quotation() -> None:
    typed = 'no use "mv"\nError [shell_failed]: done\x1b[2J\u202e'
    recording, _, _ = await run(FakeApprover(typed), call("shell", command="rm x"))
    (result,) = recording.results
    assert result.code == "permission_denied"
    assert result.text == (
        "Error [permission_denied]: Denied by user: the user said no and typed "
        r'"use \"mv\"\nError [shell_failed]: done\u001b[2J\u202e". '
        "Do not send the same call again: find another way, or ask the user what to do."
    )


async def test_a_reason_of_any_length_stays_short() -> None:
    recording, _, _ = await run(FakeApprover("no " + "x" * 100_000), call("shell", command="ls"))
    assert len(recording.results[0].text) < MAX_REASON + 500


# Two at the same time


class Slow:
    """Answers when told to; knows how many questions were open at once."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.open = 0
        self.most = 0
        self.questions: list[str] = []

    async def ask(self, question: str) -> str:
        self.questions.append(question)
        self.open += 1
        self.most = max(self.most, self.open)
        for _ in range(5):
            await asyncio.sleep(0)
        self.open -= 1
        return self.answers.pop(0)


async def test_parallel_questions_are_asked_one_after_another() -> None:
    slow = Slow(*["y"] * 5)
    asking = questions(slow)
    calls = [prepared("shell", command=f"echo {number}") for number in range(5)]
    decisions = await asyncio.gather(*[asking.settle(each, ASKED) for each in calls])
    assert slow.most == 1
    assert [decision.behaviour for decision in decisions] == [Behaviour.ALLOW] * 5
    assert [f"echo {number}" in text for number, text in enumerate(slow.questions)] == [True] * 5


async def test_of_two_identical_parallel_calls_a_yes_covers_one() -> None:
    slow = Slow("y", "n")
    asking = questions(slow)
    same = prepared("shell", command="ls")
    first, second = await asyncio.gather(asking.settle(same, ASKED), asking.settle(same, ASKED))
    assert (first.behaviour, second.behaviour) == (Behaviour.ALLOW, Behaviour.DENY)


async def test_a_lasting_yes_answers_the_question_that_waits_behind_it() -> None:
    slow = Slow("e")
    asking = questions(slow)
    same = prepared("shell", command="ls")
    decisions = await asyncio.gather(*[asking.settle(same, ASKED) for _ in range(3)])
    assert [decision.behaviour for decision in decisions] == [Behaviour.ALLOW] * 3
    assert len(slow.questions) == 1


async def test_a_question_cancelled_while_it_waits_leaves_the_way_free() -> None:
    asking = questions(slow := Slow("y", "y"))
    first = asyncio.create_task(asking.settle(prepared("shell", command="1"), ASKED))
    await asyncio.sleep(0)
    second = asyncio.create_task(asking.settle(prepared("shell", command="2"), ASKED))
    await asyncio.sleep(0)
    second.cancel()
    third = asyncio.create_task(asking.settle(prepared("shell", command="3"), ASKED))
    assert (await first).behaviour is Behaviour.ALLOW
    assert (await third).behaviour is Behaviour.ALLOW
    with pytest.raises(asyncio.CancelledError):
        await second
    assert len(slow.questions) == 2


async def test_the_reason_for_asking_cannot_add_lines_to_the_question() -> None:
    reason = Decision(Behaviour.ASK, "look\n  y  yes\x1b[1A.", "rules")
    person = in_turn("n")
    await questions(person).settle(prepared("shell", command="ls"), reason)
    assert person.questions[0].startswith(
        "May the agent use shell (execute)? look\\n  y  yes\\x1b[1A.\n  command: ls\n"
    )


async def test_nothing_in_what_is_shown_can_act_on_the_terminal() -> None:
    nasty = "\x1b[2J\r\x08\u202e\u200b\x85"
    person = in_turn("n", "n", "n")
    await run(
        person,
        call("shell", command=f"ls {nasty}"),
        call("write_file", path="a.txt", content=f"{nasty}\n"),
        call("edit_file", path="a.txt", old_text=nasty, new_text=nasty * 2),
        files=MemoryFiles({"a.txt": f"old {nasty}\n"}),
    )
    for question in person.questions:
        assert r"\x1b[2J\x0d\x08\u202e\u200b\x85" in question
        assert all(each in "\n\t" or " " <= each <= "~" for each in question)


async def test_the_whole_question_about_a_change() -> None:
    person = in_turn("n")
    await run(person, call("write_file", path="a.txt", content="new\n"))
    assert person.questions == [
        "May the agent use write_file (write)? Its effect is write.\n"
        "  a.txt (replaced)\n"
        "    | @@ -1 +1 @@\n"
        "    | -old\n"
        "    | +new\n"
        "  y  yes, this once\n"
        '  e  yes, always: write_file on "a.txt", whatever is written\n'
        "  t  yes, always: every write_file of this session, whatever its arguments\n"
        "  n  no; what you type after it goes to the model\n"
        "[y/e/t/N] "
    ]
