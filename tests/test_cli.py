"""The `workbook` command: its commands, its help, and what it says when you mistype."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

from chapters.ch04.known_servers import KNOWN
from labs import cli
from labs.catalog import chapter_numbers, lab_modules, profile_of
from shared.errors import ConfigError, RunError
from tests.command_line import ROOT, Workbook, environment

SHOWN_BY_NOW = ("list", "show", "lab", "test", "run", "doctor")


def test_alone_it_says_where_you_are_and_what_to_type(workbook: Workbook) -> None:
    ended = workbook()
    assert ended.exit == 0
    assert "2  A registry and file tools" in ended.out
    assert "You are outside the workbook's folder." in ended.out
    assert "Next:  workbook read 1 " in ended.out


def test_in_the_folder_of_a_chapter_it_says_so(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT / "chapters" / "ch02" / "tests")
    ended = workbook()
    assert ">  2  A registry and file tools" in ended.out
    assert "You are in the folder of chapter 2." in ended.out
    assert "Next:  workbook read 2 " in ended.out


def test_help_lists_the_commands_in_the_order_in_which_they_are_met(workbook: Workbook) -> None:
    lines = workbook("--help").out.partition("Commands:\n")[2].splitlines()
    names = [line.split()[0] for line in lines]
    assert [name for name in names if name in SHOWN_BY_NOW] == list(SHOWN_BY_NOW)
    cut = [line for line in lines if line.endswith("...") and line.split()[0] in SHOWN_BY_NOW]
    assert cut == [], "a short help must fit"


@pytest.mark.parametrize("name", SHOWN_BY_NOW)
def test_every_command_explains_itself_in_80_columns(name: str, workbook: Workbook) -> None:
    ended = workbook(name, "--help")
    assert ended.exit == 0
    assert ended.out.startswith(f"Usage: workbook {name} [OPTIONS]")
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_who_has_started_an_exercise_is_told_to_go_on_with_it(
    workbook: Workbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBOOK_WORK", str(tmp_path / "work"))
    workbook("exercise", "01/run_budget")
    out = workbook().out
    assert "You are at exercise 01/run_budget" in out
    assert "Next:  workbook check\n" in out


def test_progress_that_cannot_be_read_does_not_stop_the_first_word(
    workbook: Workbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBOOK_WORK", str(tmp_path / "work"))
    workbook("exercise", "01/run_budget")
    (tmp_path / "work" / "progress.toml").write_text("junk[", encoding="utf-8")
    ended = workbook()
    assert ended.exit == 0
    assert "workbook check --all" in ended.out
    assert "Next:  workbook read 1 " in ended.out


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("lsit", "Did you mean `workbook list`?"),
        ("lab2", "Did you mean `workbook lab`?"),
        ("docter", "Did you mean `workbook doctor`?"),
        ("xyzzy", "The commands are: list, "),
    ],
)
def test_a_mistyped_command_gets_a_suggestion(typed: str, hint: str, workbook: Workbook) -> None:
    ended = workbook(typed)
    assert (ended.exit, ended.out) == (2, "")
    assert ended.err.startswith(f"Error: There is no command '{typed}'. {hint}")
    assert ended.err.endswith("Help:  workbook --help\n")


def test_a_mistyped_option_gets_a_suggestion(workbook: Workbook) -> None:
    ended = workbook("list", "--jsno")
    assert ended.exit == 2
    assert "Did you mean '--json'?" in ended.err


def test_a_file_in_the_folder_of_commands_is_a_command() -> None:
    files = {path.stem for path in (ROOT / "labs" / "commands").glob("[!_]*.py")}
    names = cli.workbook.list_commands(click.Context(cli.workbook))
    assert set(names) == files
    assert len(names) == len(files)


@pytest.mark.parametrize(("error", "code"), [(ConfigError("do \x1bthis"), 2), (RunError("x"), 1)])
def test_an_error_with_a_message_for_people_is_a_sentence_and_an_exit_code(
    error: Exception, code: int, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr("labs.whereabouts.show", fail)
    ended = workbook()
    assert (ended.exit, ended.out) == (code, "")
    assert ended.err == str(error).replace("\x1b", "\\x1b") + "\n"


def test_a_mistake_of_the_program_is_not_hidden(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.whereabouts.show", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        workbook()


class TestList:
    """`workbook list`."""

    def test_each_chapter_shows_what_it_adds_and_its_tools(self, workbook: Workbook) -> None:
        out = workbook("list").out
        for number in chapter_numbers():
            assert f"{number:2}  {profile_of(number).title}\n" in out
        assert "    tools +shell\n" in out
        assert "    tools shell, +read_file, +write_file, +edit_file, +glob\n" in out

    def test_as_json(self, workbook: Workbook) -> None:
        rows = json.loads(workbook("list", "--json").out)
        assert [row["chapter"] for row in rows] == chapter_numbers()
        assert rows[1] == {
            "chapter": 2,
            "title": "A registry and file tools",
            "adds": ["tool_registry", "files"],
            "tools": ["shell", "read_file", "write_file", "edit_file", "glob"],
            "new_tools": ["read_file", "write_file", "edit_file", "glob"],
            "lab": True,
        }


class TestFinding:
    """Chapters and labs are found by looking."""

    def test_a_new_chapter_needs_no_other_edit(self, tmp_path: Path) -> None:
        for name in ("ch01", "ch02", "ch10", "chapter", "ch3", "ch04"):
            (tmp_path / "chapters" / name).mkdir(parents=True)
            if name != "ch04":  # what git leaves behind of another branch: no package
                (tmp_path / "chapters" / name / "__init__.py").touch()
        assert chapter_numbers(tmp_path) == [1, 2, 10]

    def test_so_does_a_new_lab(self, tmp_path: Path) -> None:
        (tmp_path / "labs").mkdir()
        for name in ("ch01_loop.py", "ch10_more.py", "chores.py", "ch02.py"):
            (tmp_path / "labs" / name).touch()
        assert lab_modules(tmp_path) == {1: "ch01_loop", 10: "ch10_more"}

    def test_every_chapter_has_a_lab(self) -> None:
        assert list(lab_modules()) == chapter_numbers()


class TestShow:
    """`workbook show N`."""

    def test_what_is_new_in_chapter_2_is_marked_and_nothing_else(self, workbook: Workbook) -> None:
        lines = workbook("show", "2").out.splitlines()
        new = [line.split()[1] for line in lines if line.startswith("+ ")]
        old = [line.split()[0] for line in lines if line.startswith("  ") and line.strip()]
        assert new == ["Registry", "read_file", "write_file", "edit_file", "glob"]
        assert {"loop", "shell_question", "shell"} <= set(old)

    def test_chapter_4_adds_no_layer_and_any_provider(self, workbook: Workbook) -> None:
        text = workbook("show", "4").out
        (new,) = [line for line in text.splitlines() if line.startswith("+ ")]
        assert new.split()[:4] == ["+", "the", "model", "any"]
        for name in KNOWN:
            assert name in text
        assert "any provider" not in workbook("show", "3").out

    def test_chapter_5_adds_a_layer_and_a_model_that_streams(self, workbook: Workbook) -> None:
        new = [
            " ".join(line.split())
            for line in workbook("show", "5").out.splitlines()
            if line.startswith("+ ")
        ]
        assert new[0] == "+ retry model layer"
        assert new[1].startswith("+ the model any provider; its replies stream")
        assert len(new) == 2
        assert "stream" not in workbook("show", "4").out

    def test_everything_is_new_in_chapter_1(self, workbook: Workbook) -> None:
        lines = workbook("show", "1").out.splitlines()
        new = [line.split()[1] for line in lines if line.startswith("+ ")]
        assert new == ["loop", "the", "OneTool", "shell_question", "shell"]

    def test_tools_lie_inside_their_layers_and_show_their_effect(self, workbook: Workbook) -> None:
        out = workbook("show", "02").out
        lines = [line[2:] for line in out.splitlines() if line[2:].strip()]
        depths = {line.split()[0]: len(line) - len(line.lstrip()) for line in lines}
        assert depths["Registry"] < depths["shell_question"] < depths["read_file"]
        assert "write_file          write    Create a file" in out
        assert "shell               execute  Run a command line" in out
        assert "Sources: none" in out
        assert "Listeners: none" in out


class TestTest:
    """`workbook test N`."""

    @pytest.fixture
    def ran(self, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """What would have been run; it ends with exit code 5."""
        commands: list[list[str]] = []

        def run(words: list[str]) -> int:
            commands.append(words)
            return 5

        monkeypatch.setattr("labs.commands.test._run", run)
        return commands

    def test_it_prints_the_command_it_runs_and_passes_the_exit_code_on(
        self, workbook: Workbook, ran: list[list[str]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(ROOT)
        ended = workbook("test", "2", "-x", "-k", "a or b")
        assert ended.exit == 5
        folder = str(Path("chapters/ch02"))
        assert ran == [[sys.executable, "-m", "pytest", folder, "-x", "-k", "a or b"]]
        assert ended.out.startswith("Running: ")
        assert "-m pytest" in ended.out
        assert str(ROOT) not in ended.out.partition(" -m pytest ")[2]

    def test_from_elsewhere_the_whole_path_is_given(
        self, workbook: Workbook, ran: list[list[str]]
    ) -> None:
        workbook("test", "ch01")
        assert ran[0][3] == str(ROOT / "chapters" / "ch01")

    def test_it_really_runs_pytest(self, workbook: Workbook) -> None:
        from labs.commands.test import _run

        assert _run([sys.executable, "-m", "pytest", "--version"]) == 0
        assert _run([sys.executable, "-c", "raise SystemExit(3)"]) == 3

    def test_without_pytest_it_says_how_to_get_it(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch, ran: list[list[str]]
    ) -> None:
        monkeypatch.setattr("labs.commands.test.find_spec", lambda name: None)
        ended = workbook("test", "2")
        assert ended.exit == 2
        assert "pip install -e '.[dev]'" in " ".join(ended.err.split())
        assert ran == []


class TestLab:
    """`workbook lab N`."""

    @pytest.mark.parametrize(("holds", "code"), [(True, 0), (False, 1)])
    def test_the_exit_code_says_whether_all_facts_hold(
        self, holds: bool, code: int, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[dict[str, object]] = []

        async def run(**options: object) -> bool:
            asked.append(options)
            print("facts")
            return holds

        monkeypatch.setattr("labs.ch02_file_tools.run", run)
        ended = workbook("lab", "2", "--keep")
        assert (ended.exit, ended.out) == (code, "facts\n")
        (options,) = asked
        assert options["keep"] is True
        assert options["live"] is None

    def test_live_hands_in_the_configured_model(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[object] = []

        async def run(*, live: object, keep: bool, out: object) -> bool:
            asked.append(live)
            return True

        monkeypatch.setattr("labs.ch01_loop_and_shell.run", run)
        workbook.configure("http://127.0.0.1:9/v1")
        assert workbook("lab", "1", "--live").exit == 0
        assert type(asked[0]).__name__ == "OpenAIChat"

    def test_an_unknown_chapter(self, workbook: Workbook) -> None:
        ended = workbook("lab", "99")
        assert ended.exit == 2
        assert "there is no '99'. The chapters are: 1, 2" in ended.err


HEAVY = ("openai", "pydantic", "asyncio", "rich", "dotenv", "httpx2", "psutil", "json.tool")


@pytest.mark.parametrize("words", [["list"], [], ["--help"], ["lsit"]])
def test_starting_loads_nothing_heavy(words: list[str], tmp_path: Path) -> None:
    program = (
        "import sys; from labs.cli import main\n"
        f"main({words!r}, standalone_mode=False)\n"
        f"print('LOADED', [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "LOADED []"
