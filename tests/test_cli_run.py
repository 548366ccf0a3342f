"""`workbook run`: one task from the command line to the exit code, over a real connection."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from labs.catalog import chapter_numbers, plan_of
from labs.commands.run import _standard_input
from shared.conversation import DEFAULT_MAX_TURNS
from shared.plan import Kit, Plan
from shared.provider_server import Answer, Ending, ProviderServer, completion, wire_call
from tests.command_line import KEY, Workbook, settings, start

RUN = ("run", "--chapter", "2", "--prompt")
POSIX = pytest.mark.skipif(os.name == "nt", reason="sends signals")


def test_the_answer_is_all_that_goes_to_standard_output(workbook: Workbook) -> None:
    (workbook.here / "note.txt").write_text("the code word is fjord\n", encoding="utf-8")
    reading = completion(wire_call("c1", "read_file", {"path": "note.txt"}), text="I look.")
    with ProviderServer(Answer(reading), Answer(completion(text="It is fjord."))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "what is the code word?")
    assert (ended.exit, ended.out) == (0, "It is fjord.\n")
    for shown in (
        "chapter 2, model a-model at 127.0.0.1:",
        " (see the environment)",
        "user    what is the code word?",
        "model   I look.",
        'call    read_file {"path": "note.txt"}',
        "result  the code word is fjord",
        "2 turns, 22 tokens sent, 14 received",
    ):
        assert shown in ended.err
    assert "It is fjord." not in ended.err
    second = server.requests[1].body["messages"]
    assert [message["role"] for message in second] == ["user", "assistant", "tool"]
    assert second[2]["content"] == "the code word is fjord\n"
    assert [tool["function"]["name"] for tool in server.requests[0].body["tools"]] == [
        "shell", "read_file", "write_file", "edit_file", "glob",
    ]  # fmt: skip


def test_chapter_1_has_the_shell_and_nothing_else(workbook: Workbook) -> None:
    with ProviderServer(Answer(completion(text="Hi."))) as server:
        workbook.configure(server.base_url)
        assert workbook("run", "--chapter", "1", "--prompt", "hi").exit == 0
    (tool,) = server.requests[0].body["tools"]
    assert tool["function"]["name"] == "shell"


def test_another_model_and_another_workspace(workbook: Workbook, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    writing = completion(wire_call("c1", "write_file", {"path": "a.txt", "content": "x"}))
    with ProviderServer(Answer(writing), Answer(completion(text="Done."))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "write", "--workspace", "other", "--model", "a-better-one")
    assert ended.exit == 0
    assert (other / "a.txt").read_text(encoding="utf-8") == "x"
    assert server.requests[0].body["model"] == "a-better-one"


def test_a_run_has_as_many_turns_as_a_conversation_unless_told(workbook: Workbook) -> None:
    assert f"[default: {DEFAULT_MAX_TURNS}]" in workbook("run", "--help").out


def test_json_is_one_object(workbook: Workbook) -> None:
    with ProviderServer(Answer(completion(text="Fine. 你好"))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "how are you?", "--json")
    assert json.loads(ended.out) == {
        "answer": "Fine. 你好",
        "partial": "",
        "turns": 1,
        "usage": {"input_tokens": 11, "output_tokens": 7},
        "error": None,
        "exit": 0,
    }
    assert ended.out.count("\n") == 1


def test_the_prompt_can_come_through_standard_input(workbook: Workbook) -> None:
    with ProviderServer(Answer(completion(text="Yes."))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "-", typed="\ufeffis it true?\nreally?\n")
    assert ended.exit == 0
    assert server.requests[0].body["messages"] == [
        {"role": "user", "content": "is it true?\nreally?\n"}
    ]


class TestTheQuestion:
    """A command runs only if somebody said yes."""

    calls = completion(wire_call("c1", "shell", {"command": "echo ran > ran.txt"}))

    def test_without_a_terminal_nothing_runs(self, workbook: Workbook) -> None:
        with ProviderServer(Answer(self.calls), Answer(completion(text="Well."))) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "do it", typed="yes\nyes\n")
        assert ended.exit == 0
        assert not (workbook.here / "ran.txt").exists()
        assert "failed  Error [permission_denied]" in ended.err

    def test_yes_beforehand_lets_everything_run_and_is_said_loudly(
        self, workbook: Workbook
    ) -> None:
        with ProviderServer(Answer(self.calls), Answer(completion(text="Done."))) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "do it", "--yes")
        assert ended.exit == 0
        assert (workbook.here / "ran.txt").exists()
        assert "--yes: EVERY QUESTION IS ANSWERED WITH YES." in ended.err
        assert ended.out == "Done.\n"


@pytest.mark.skipif(os.name == "nt", reason="uses `env`")
def test_a_command_does_not_see_the_key(workbook: Workbook) -> None:
    calls = completion(wire_call("c1", "shell", {"command": "env"}))
    with ProviderServer(Answer(calls), Answer(completion(text="Done."))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "show the environment", "--yes")
    result = server.requests[1].body["messages"][2]["content"]
    assert "PATH=" in result
    assert KEY not in result
    assert "WORKBOOK_" not in result
    assert KEY not in ended.err


class TestFailing:
    """Exit code 1, a sentence on standard error, no traceback, no answer."""

    def test_the_turn_limit(self, workbook: Workbook) -> None:
        again = Answer(completion(wire_call("c1", "glob", {"pattern": "*"})))
        with ProviderServer(again) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "go", "--max-turns", "1")
        assert (ended.exit, ended.out) == (1, "")
        assert ended.err.endswith("Raise the limit with --max-turns, or give a smaller task.\n")

    def test_a_reply_that_was_cut_off_shows_what_came(self, workbook: Workbook) -> None:
        with ProviderServer(Answer(completion(text="Once upon a", finish="length"))) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "tell me a story", "--json")
        found = json.loads(ended.out)
        assert ended.exit == found["exit"] == 1
        assert found["answer"] is None
        assert found["partial"] == "Once upon a"
        assert found["error"]["type"] == "ReplyCutOff"
        assert "partial Once upon a" in ended.err

    def test_a_key_that_is_not_accepted(self, workbook: Workbook) -> None:
        refusal = {"error": {"message": f"Incorrect API key provided: {KEY}"}}
        with ProviderServer(Answer(refusal, status=401)) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "go")
        assert (ended.exit, ended.out) == (1, "")
        assert "The key was not accepted. Check WORKBOOK_API_KEY" in ended.err
        assert KEY not in ended.err
        assert "Traceback" not in ended.err

    def test_nobody_answers(self, workbook: Workbook) -> None:
        workbook.configure("http://127.0.0.1:9/v1")
        ended = workbook(*RUN, "go")
        assert (ended.exit, ended.out) == (1, "")
        assert "Nothing answers at http://127.0.0.1:9/v1." in ended.err


class TestRefusing:
    """Exit code 2, with what to do instead, before anything was asked or printed."""

    @pytest.mark.parametrize(
        ("words", "advice"),
        [
            ((*RUN, ""), 'it is empty. Say what to do: --prompt "list'),
            ((*RUN, " \n"), "it is empty"),
            ((*RUN, "-"), "it is empty"),
            ((*RUN, "half a pair \ud800"), "it is not UTF-8 text"),
            ((*RUN, "x", "--workspace", "nowhere"), "there is no 'nowhere'. Make it first"),
            ((*RUN, "x", "--workspace", "file"), "'file' is a file. Name the directory"),
            ((*RUN, "x", "--max-turns", "0"), "at least 1"),
            ((*RUN, "x", "--max-turns", "many"), "'many' is not a valid integer"),
            (("run", "--chapter", "99", "--prompt", "x"), "there is no '99'. The chapters are: 1"),
            (("run", "--chapter", "two", "--prompt", "x"), "The chapters are: 1, 2"),
            (("run", "--prompt", "x"), "Missing option '--chapter'"),
            (("run", "--chapter", "2"), "Missing option '--prompt'"),
            ((*RUN, "x", "--modle", "human"), "Did you mean '--model'?"),
            ((*RUN, "-", "--model", "human"), "would both come from"),
        ],
    )
    def test_a_wrong_command_line(
        self, words: tuple[str, ...], advice: str, workbook: Workbook
    ) -> None:
        (workbook.here / "file").touch()
        workbook.configure("http://127.0.0.1:9/v1")
        ended = workbook(*words)
        assert (ended.exit, ended.out) == (2, "")
        assert advice in " ".join(ended.err.split())
        assert "Help:  workbook run --help" in ended.err

    def test_a_prompt_that_is_not_text(self, workbook: Workbook) -> None:
        ended = workbook(*RUN, "-", typed=b"\xff\xfe")
        assert ended.exit == 2
        assert "standard input is not UTF-8 text" in ended.err

    def test_nothing_configured_gives_three_ways_on(self, workbook: Workbook) -> None:
        for words in ((*RUN, "x"), (*RUN, "x", "--model", "a-model"), ("lab", "2", "--live")):
            ended = workbook(*words)
            assert (ended.exit, ended.out) == (2, "")
            assert ".env.example" in ended.err
            assert "--model human" in ended.err
            assert "workbook lab 2" in ended.err
            assert "Traceback" not in ended.err

    def test_half_a_configuration_names_what_is_missing(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workbook.configure("http://127.0.0.1:9/v1")
        monkeypatch.delenv("WORKBOOK_MODEL")
        ended = workbook(*RUN, "x")
        assert ended.exit == 2
        assert "WORKBOOK_MODEL is not set." in ended.err

    def test_a_strange_folder_cannot_send_your_key_away(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with ProviderServer() as server:
            theirs = settings(server.base_url)
            monkeypatch.setenv("WORKBOOK_API_KEY", theirs.pop("WORKBOOK_API_KEY"))
            lines = "".join(f"{name}={value}\n" for name, value in theirs.items())
            (workbook.here / ".env").write_text(lines, encoding="utf-8")
            ended = workbook(*RUN, "x")
        assert ended.exit == 2
        assert "could send your key anywhere" in " ".join(ended.err.split())
        assert server.requests == []


class TestYouAreTheModel:
    """`--model human` needs no key, and works through a pipe."""

    def test_a_call_and_an_answer(self, workbook: Workbook) -> None:
        (workbook.here / "a.txt").write_text("hello\n", encoding="utf-8")
        typed = 'read_file {"path": "a.txt"}\n\nIt says hello.\n\n'
        ended = workbook(*RUN, "what is in a.txt?", "--model", "human", typed=typed)
        assert (ended.exit, ended.out) == (0, "It says hello.\n")
        assert "tool       (call_1)\n           hello" in ended.err

    @pytest.mark.parametrize("typed", ["", ":quit\n"])
    def test_leaving_is_an_interruption(self, typed: str, workbook: Workbook) -> None:
        ended = workbook(*RUN, "x", "--model", "human", "--json", typed=typed)
        assert ended.exit == 130
        assert json.loads(ended.out)["error"]["type"] == "HumanLeft"
        assert "Traceback" not in ended.err

    @pytest.mark.parametrize("number", chapter_numbers())
    def test_each_chapter_is_a_program_of_its_own(
        self, number: int, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[int] = []

        def remember(chapter: int) -> Callable[[Kit], Plan]:
            asked.append(chapter)
            return plan_of(chapter)

        monkeypatch.setattr("labs.task.plan_of", remember)
        module = f"chapters.ch{number:02}"
        ended = workbook.module(module, "--prompt", "x", "--model", "human", typed="Yes.\n\n")
        assert (ended.exit, ended.out) == (0, "Yes.\n")
        assert asked == [number]
        assert workbook.module(module, "--help").out.startswith(f"Usage: python -m {module} [OPT")
        assert workbook.module(module).exit == 2


@POSIX
def test_ctrl_c_while_the_provider_thinks_is_one_line(tmp_path: Path) -> None:
    with ProviderServer(Answer(status=None, ending=Ending.HANGING)) as server:
        process = start(*RUN, "x", here=tmp_path, env=settings(server.base_url))
        wait_until(lambda: bool(server.requests))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=10)
        assert server.hung_up.wait(5)
    assert (process.returncode, out) == (130, "")
    assert err.endswith("\nInterrupted.\n")
    assert "Traceback" not in err


@POSIX
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_ctrl_c_and_the_end_of_the_terminal_kill_a_running_command(
    name: str, tmp_path: Path
) -> None:
    process = start(*RUN, "x", "--model", "human", "--yes", "--json", here=tmp_path, env={})
    assert process.stdin is not None
    command = "sleep 60 & echo $! > pid; wait"
    process.stdin.write(f"shell {json.dumps({'command': command})}\n\n")
    process.stdin.flush()
    pid_file = tmp_path / "pid"
    wait_until(lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8").strip() != "")
    process.send_signal(getattr(signal, name))
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert json.loads(out)["error"] == {"type": "Interrupted", "message": "Interrupted."}
    assert "Traceback" not in err
    wait_until(lambda: not alive(int(pid_file.read_text(encoding="utf-8"))))


@POSIX
def test_a_workspace_whose_name_is_too_long_is_a_usage_error(workbook: Workbook) -> None:
    ended = workbook(*RUN, "x", "--model", "human", "--workspace", "x" * 5000)
    assert ended.exit == 2
    assert "--workspace" in ended.err
    assert "too long" in ended.err


@POSIX
def test_a_prompt_from_a_closed_standard_input_is_a_usage_error(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.commands.run.sys.stdin", None)
    with pytest.raises(click.BadParameter, match="standard input is closed"):
        _standard_input()


@POSIX
def test_a_reader_that_goes_away_is_no_trouble(tmp_path: Path) -> None:
    process = start("show", "2", here=tmp_path, env={})
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait(timeout=10)


def wait_until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something another process does."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def alive(pid: int) -> bool:
    """True if the process exists and is not only waiting to be collected."""
    found = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return found.stdout.strip()[:1] not in ("", "Z")
