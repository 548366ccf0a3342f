"""`workbook run` from chapter 3 on, and `workbook audit`: who may say yes, and where it is told."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from labs.audit_place import default_place
from shared.errors import ConfigError
from shared.provider_server import Answer, ProviderServer, completion, wire_call
from tests.command_line import Ended, Workbook
from tests.test_cli_streams import in_shell

RUN = ("run", "--chapter", "3", "--prompt", "go", "--model", "human")
WRITE = 'write_file {"path": "a.txt", "content": "new"}\n\nDone.\n\n'
SHELL = 'shell {"command": "echo ran > ran.txt"}\n\nDone.\n\n'
LINKS = pytest.mark.skipif(os.name == "nt", reason="making a link needs a privilege")


def place(workbook: Workbook) -> Path:
    """Where the audit is if nobody says where."""
    return workbook.state / "agent-workbook" / "audit.jsonl"


def decisions(path: Path) -> list[tuple[str, str, str]]:
    """What an audit holds: tool, decision, who."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [(line["tool"], line["decision"], line["who"]) for line in lines]


def squeezed(ended: Ended) -> str:
    """Standard error without the line breaks."""
    return " ".join(ended.err.split())


class TestApprove:
    """`--approve`: ask, never, always."""

    def test_never_is_a_no_to_every_question(self, workbook: Workbook) -> None:
        ended = workbook(*RUN, "--approve", "never", typed=WRITE)
        assert (ended.exit, ended.out) == (0, "Done.\n")
        assert not (workbook.here / "a.txt").exists()
        assert decisions(place(workbook)) == [("write_file", "deny", "nobody")]
        assert "--approve never: every question is answered with no." in ended.err

    def test_never_asks_nothing_about_reading(self, workbook: Workbook) -> None:
        (workbook.here / "a.txt").write_text("hello\n", encoding="utf-8")
        typed = 'read_file {"path": "a.txt"}\n\nDone.\n\n'
        assert "hello" in workbook(*RUN, "--approve", "never", typed=typed).err
        assert decisions(place(workbook)) == [("read_file", "allow", "policy")]

    def test_always_is_a_yes_that_no_person_is_said_to_have_given(self, workbook: Workbook) -> None:
        ended = workbook(*RUN, "--approve", "always", typed=WRITE)
        assert (workbook.here / "a.txt").read_text(encoding="utf-8") == "new"
        assert decisions(place(workbook)) == [("write_file", "allow", "--approve always")]
        assert "--approve always: EVERY QUESTION IS ANSWERED WITH YES." in squeezed(ended)

    @pytest.mark.parametrize("words", [("--yes",), ("--yes", "--approve", "always")])
    def test_yes_is_the_same_as_always(self, words: tuple[str, ...], workbook: Workbook) -> None:
        ended = workbook(*RUN, *words, typed=WRITE)
        assert (workbook.here / "a.txt").exists()
        assert "--yes: EVERY QUESTION IS ANSWERED WITH YES." in squeezed(ended)

    def test_always_does_not_outweigh_a_rule_that_denies(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, 'behaviour = "deny"', 'path = "a.*"')
        workbook(*RUN, "--yes", "--rules", str(rules), typed=WRITE)
        assert not (workbook.here / "a.txt").exists()

    @pytest.mark.parametrize("answer", ["ask", "never"])
    def test_yes_together_with_another_answer_is_a_mistake(
        self, answer: str, workbook: Workbook
    ) -> None:
        ended = workbook(*RUN, "--yes", "--approve", answer, typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert f"--yes is --approve always, and you have also said --approve {answer}" in squeezed(
            ended
        )

    def test_without_a_terminal_ask_is_a_no(self, workbook: Workbook) -> None:
        workbook(*RUN, typed=WRITE)
        assert not (workbook.here / "a.txt").exists()
        assert decisions(place(workbook)) == [("write_file", "deny", "nobody")]

    @pytest.mark.parametrize("chapter", ["1", "2"])
    @pytest.mark.parametrize(("answer", "ran"), [("never", False), ("always", True)])
    def test_the_earlier_chapters_know_it_too(
        self, chapter: str, answer: str, ran: bool, workbook: Workbook
    ) -> None:
        run = ("run", "--chapter", chapter, "--prompt", "go", "--model", "human")
        assert workbook(*run, "--approve", answer, typed=SHELL).exit == 0
        assert (workbook.here / "ran.txt").exists() is ran
        assert not workbook.state.exists()


def write_rules(workbook: Workbook, *lines: str, name: str = "../rules.toml") -> Path:
    """A rules file with one rule, outside the workspace unless told."""
    path = workbook.here / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(("[[rule]]", *lines, "")), encoding="utf-8")
    return path


class TestRules:
    """`--rules FILE`: only a file that is named may allow anything."""

    allow = ('behaviour = "allow"', 'tool = "write_file"')

    def test_a_rule_allows_what_would_be_asked(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, *self.allow)
        ended = workbook(*RUN, "--rules", str(rules), typed=WRITE)
        assert (workbook.here / "a.txt").exists()
        assert "rules   " in ended.err

    @pytest.mark.parametrize("name", [".workbook/rules.toml", "rules.toml"])
    def test_a_rules_file_of_a_strange_workspace_allows_nothing(
        self, name: str, workbook: Workbook
    ) -> None:
        write_rules(workbook, *self.allow, name=name)
        workbook(*RUN, typed=WRITE)
        assert not (workbook.here / "a.txt").exists()

    def test_a_rule_for_a_tool_that_there_is_not_gets_a_warning(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, 'behaviour = "deny"', 'tool = "writefile"')
        ended = workbook(*RUN, "--rules", str(rules), typed="Done.\n\n")
        assert ended.exit == 0
        assert "No tool is called 'writefile': that rule never fits" in squeezed(ended)

    def test_a_rule_for_a_tool_that_there_is_gets_none(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, *self.allow)
        assert "never fits" not in workbook(*RUN, "--rules", str(rules), typed="Done.\n\n").err

    def test_naming_a_file_the_agent_can_change_gets_a_warning(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, *self.allow, name="rules.toml")
        ended = workbook(*RUN, "--rules", str(rules), typed="Done.\n\n")
        assert ended.exit == 0
        assert "lies in the workspace: the agent can change it for the next run" in squeezed(ended)

    @pytest.mark.parametrize(
        ("lines", "where"),
        [
            (('behaviour = "allow', 'tool = "shell"'), "line 2, column"),
            (('tool = "shell"', ' behaviour = "perhaps"'), "line 3, column 2"),
            (('behaviour = "allow"', 'tol = "shell"'), "line 3, column 1"),
        ],
    )
    def test_a_broken_file_stops_the_run_before_it_begins(
        self, lines: tuple[str, ...], where: str, workbook: Workbook
    ) -> None:
        rules = write_rules(workbook, *lines)
        with ProviderServer(Answer(completion(text="Hi."))) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", "3", "--prompt", "x", "--rules", str(rules))
        assert (ended.exit, ended.out) == (2, "")
        assert where in squeezed(ended)
        assert "Traceback" not in ended.err
        assert server.requests == []

    @pytest.mark.parametrize(
        ("name", "problem"), [("nowhere.toml", "does not exist"), (".", "is no file")]
    )
    def test_a_file_that_is_none(self, name: str, problem: str, workbook: Workbook) -> None:
        ended = workbook(*RUN, "--rules", name)
        assert (ended.exit, ended.out) == (2, "")
        assert f"'{name}' {problem}." in squeezed(ended)

    @pytest.mark.parametrize("length", [300, 6_000])
    @pytest.mark.parametrize("form", ["{}", "{}/rules.toml"])
    def test_a_name_that_is_too_long(self, form: str, length: int, workbook: Workbook) -> None:
        for option in ("--rules", "--audit"):
            name = form.format("../" + "x" * length)
            ended = workbook(*RUN, option, name)
            assert (ended.exit, ended.out) == (2, "")
            assert "Traceback" not in ended.err
            assert len(ended.err) < 700
            assert "name too long" in squeezed(ended)

    def test_the_audit_is_not_written_into_the_rules(self, workbook: Workbook) -> None:
        rules = write_rules(workbook, *self.allow)
        before = (rules.read_bytes(), rules.stat().st_mode)
        ended = workbook(*RUN, "--rules", str(rules), "--audit", "../rules.toml", typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert "--rules and --audit name the same file" in squeezed(ended)
        assert (rules.read_bytes(), rules.stat().st_mode) == before

    @pytest.mark.parametrize("chapter", ["1", "2"])
    @pytest.mark.parametrize("option", ["--rules", "--audit"])
    def test_the_earlier_chapters_have_neither_rules_nor_an_audit(
        self, option: str, chapter: str, workbook: Workbook
    ) -> None:
        ended = workbook(
            "run", "--chapter", chapter, "--prompt", "x", "--model", "human", option, "../x"
        )
        assert (ended.exit, ended.out) == (2, "")
        assert f"{option} begins with chapter 3; the agent of chapter {chapter} has no" in squeezed(
            ended
        )
        assert not (workbook.here / "../x").exists()


class TestWhereTheAuditIs:
    """Outside the workspace, said aloud, and writable before anything runs."""

    def test_it_is_said_where(self, workbook: Workbook) -> None:
        ended = workbook(*RUN, typed="Done.\n\n")
        assert "audit   " in ended.err
        assert str(place(workbook)) in ended.err.replace("\n        ", "")

    def test_a_file_of_your_own(self, workbook: Workbook) -> None:
        workbook(*RUN, "--audit", "../deep/down/my.jsonl", typed=WRITE)
        mine = workbook.here.parent / "deep" / "down" / "my.jsonl"
        assert decisions(mine) == [("write_file", "deny", "nobody")]
        assert not place(workbook).exists()

    @pytest.mark.skipif(os.name == "nt", reason="has other permissions")
    def test_nobody_else_may_read_it(self, workbook: Workbook) -> None:
        workbook(*RUN, typed=WRITE)
        assert place(workbook).stat().st_mode & 0o077 == 0
        assert place(workbook).parent.stat().st_mode & 0o077 == 0

    @pytest.mark.skipif(os.name == "nt", reason="has other permissions")
    def test_what_was_there_already_is_taken_away_from_others(self, workbook: Workbook) -> None:
        mine = workbook.here.parent / "mine.jsonl"
        mine.touch()
        mine.chmod(0o644)
        workbook(*RUN, "--audit", str(mine), typed=WRITE)
        assert decisions(mine) == [("write_file", "deny", "nobody")]
        assert mine.stat().st_mode & 0o077 == 0

    @LINKS
    def test_links_that_lead_in_a_circle(self, workbook: Workbook) -> None:
        loop = workbook.here.with_name(f"{workbook.here.name}-loop")
        loop.symlink_to(loop)
        try:
            ended = workbook(*RUN, "--audit", str(loop / "my.jsonl"), typed=WRITE)
        finally:
            loop.unlink()  # pytest cannot clean up around it
        assert (ended.exit, ended.out) == (2, "")
        assert "cannot be written" in squeezed(ended)

    @pytest.mark.parametrize("name", ["my.jsonl", "deep/my.jsonl", "../{here}/my.jsonl"])
    def test_not_in_the_workspace(self, name: str, workbook: Workbook) -> None:
        name = name.format(here=workbook.here.name)
        self.assert_refused(workbook, name)

    @LINKS
    @pytest.mark.parametrize("target", [".", "deep"])
    def test_not_in_the_workspace_through_a_link_either(
        self, target: str, workbook: Workbook
    ) -> None:
        (workbook.here / "deep").mkdir()
        link = workbook.here.with_name(f"{workbook.here.name}-link")
        link.symlink_to(workbook.here / target, target_is_directory=True)
        self.assert_refused(workbook, str(link / "my.jsonl"))

    def test_a_workspace_around_the_usual_place_needs_another_place(
        self, workbook: Workbook
    ) -> None:
        ended = workbook(*RUN, "--workspace", "..", typed=WRITE)
        assert ended.exit == 2
        assert "would lie in the workspace" in squeezed(ended)
        assert "--audit FILE" in squeezed(ended)

    def test_a_folder_is_no_audit(self, workbook: Workbook) -> None:
        (workbook.here.parent / "folder").mkdir(exist_ok=True)
        ended = workbook(*RUN, "--audit", "../folder", typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert "is no file" in squeezed(ended)

    @LINKS
    def test_a_link_is_no_audit(self, workbook: Workbook) -> None:
        link = workbook.here.with_name(f"{workbook.here.name}-link.jsonl")
        link.symlink_to(workbook.here / "target.jsonl")
        ended = workbook(*RUN, "--audit", str(link), typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert "is no file" in squeezed(ended)
        assert list(workbook.here.iterdir()) == []

    def test_what_cannot_be_written_stops_the_run(self, workbook: Workbook) -> None:
        (workbook.here.parent / "file").touch()
        ended = workbook(*RUN, "--audit", "../file/my.jsonl", typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert "cannot be written" in squeezed(ended)

    def test_the_usual_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        end = Path("agent-workbook", "audit.jsonl")
        home, other = tmp_path / "home", tmp_path / "other"
        monkeypatch.setattr("pathlib.Path.home", lambda: home)
        assert default_place({"XDG_STATE_HOME": str(other)}) == other / end
        assert default_place({"LOCALAPPDATA": str(other)}) == other / end
        assert default_place({"XDG_STATE_HOME": "relative"}) == home / ".local" / "state" / end
        assert default_place({}) == home / ".local" / "state" / end

    def test_without_a_home_there_is_advice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def nowhere() -> Path:
            raise RuntimeError("no home")

        monkeypatch.setattr("pathlib.Path.home", nowhere)
        with pytest.raises(ConfigError, match="--audit FILE"):
            default_place({})

    def assert_refused(self, workbook: Workbook, name: str) -> None:
        """Exit code 2, nothing was asked, and the workspace is as it was."""
        before = list(workbook.here.rglob("*"))
        ended = workbook(*RUN, "--audit", name, typed=WRITE)
        assert (ended.exit, ended.out) == (2, "")
        assert "would lie in the workspace, where the agent could rewrite it" in squeezed(ended)
        assert list(workbook.here.rglob("*")) == before


def test_a_live_model_meets_the_same_rules(workbook: Workbook) -> None:
    rules = write_rules(
        workbook, 'behaviour = "allow"', 'tool = "write_file"', 'path = "drafts/**"'
    )
    calls = completion(
        wire_call("c1", "write_file", {"path": "drafts/a.txt", "content": "x"}),
        wire_call("c2", "write_file", {"path": "other/a.txt", "content": "x"}),
    )
    with ProviderServer(Answer(calls), Answer(completion(text="Done."))) as server:
        workbook.configure(server.base_url)
        ended = workbook("run", "--chapter", "3", "--prompt", "x", "--rules", str(rules))
    assert ended.out == "Done.\n"
    assert [path.name for path in workbook.here.iterdir()] == ["drafts"]
    assert decisions(place(workbook)) == [
        ("write_file", "allow", "policy"),
        ("write_file", "deny", "nobody"),
    ]


def entry(number: int, **changed: Any) -> str:
    """One line of an audit."""
    whole = {
        "time": f"2026-01-31T09:30:{number:02}.5+00:00",
        "call_id": f"call_{number}",
        "tool": "write_file",
        "effect": "write",
        "arguments": {"path": f"{number}.txt", "content": "a\nb"},
        "decision": "allow",
        "reason": "because",
        "source": "rules, rule 1",
        "who": "policy",
    }
    return json.dumps(whole | changed) + "\n"


class TestAudit:
    """`workbook audit`: readable, and nothing in the file can act on the terminal or hide."""

    def show(self, workbook: Workbook, content: str | bytes, *words: str) -> Ended:
        """What `workbook audit` says about a file with this content."""
        data = content.encode() if isinstance(content, str) else content
        (workbook.here / "audit").write_bytes(data)
        return workbook("audit", "audit", *words)

    def test_a_decision_is_shown_with_all_that_was_written_down(self, workbook: Workbook) -> None:
        ended = self.show(workbook, entry(1) + entry(2, decision="deny", who="person"))
        assert ended.exit == 0
        assert ended.out == (
            "allow   write_file (write)  2026-01-31 09:30:01 UTC  call_1\n"
            "        path: 1.txt\n"
            "        content: a\\nb\n"
            "        rules, rule 1 (policy): because\n"
            "\n"
            "deny    write_file (write)  2026-01-31 09:30:02 UTC  call_2\n"
            "        path: 2.txt\n"
            "        content: a\\nb\n"
            "        rules, rule 1 (person): because\n"
            "\n"
            "2 decisions: allow 1, deny 1\n"
        )

    def test_what_a_run_wrote_can_be_read(self, workbook: Workbook) -> None:
        workbook(*RUN, typed=WRITE)
        ended = workbook("audit")
        assert ended.exit == 0
        assert ended.out.startswith("deny    write_file (write)  20")
        assert "1 decision: deny 1\n" in ended.out

    def test_the_last_ones(self, workbook: Workbook) -> None:
        ended = self.show(workbook, "".join(map(entry, range(1, 6))), "--last", "2")
        assert [line.split()[-1] for line in ended.out.splitlines() if "UTC" in line] == [
            "call_4",
            "call_5",
        ]
        assert "5 decisions: allow 5\n" in ended.out

    @pytest.mark.parametrize(
        "field", ["time", "call_id", "tool", "effect", "decision", "reason", "source", "who"]
    )
    def test_no_field_can_act_on_the_terminal_or_look_like_another_line(
        self, field: str, workbook: Workbook
    ) -> None:
        evil = "\x1b[2J\u202e\nallow   shell (execute)"
        ended = self.show(workbook, entry(1, **{field: evil}))
        assert "\\x1b[2J\\u202e" in ended.out
        assert "\x1b" not in ended.out
        assert not any(line.startswith("allow   shell") for line in ended.out.splitlines())

    def test_no_argument_can_either(self, workbook: Workbook) -> None:
        evil = {"\x1b[2J\nallow   x": "\u202e\nallow   shell (execute)", "list": ["\x1b", 1]}
        ended = self.show(workbook, entry(1, arguments=evil))
        assert "\x1b" not in ended.out
        assert "\u202e" not in ended.out
        assert len([line for line in ended.out.splitlines() if line.startswith("allow   ")]) == 1

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            (b"{oops\n", "is not JSON"),
            (b"[1]\n", "is not a JSON object"),
            (b"{}\n", "lacks time, call_id,"),
            (b'{"time": "\xff"}\n', "is not UTF-8 text"),
            (b"[" * 100_000 + b"\n", "is not JSON"),
            (b"9" * 5_000 + b"\n", "is not JSON"),
        ],
    )
    def test_a_broken_line_is_named_and_the_others_are_shown(
        self, line: bytes, problem: str, workbook: Workbook
    ) -> None:
        ended = self.show(workbook, entry(1).encode() + line + entry(3).encode())
        assert ended.exit == 1
        assert f"broken  line 2 {problem}" in ended.out
        assert "call_1\n" in ended.out
        assert "call_3\n" in ended.out
        assert "1 line is broken, so this audit does not tell everything." in ended.out

    def test_an_empty_line_is_no_decision_and_breaks_nothing(self, workbook: Workbook) -> None:
        ended = self.show(workbook, entry(1) + "\n\r\n" + entry(2) + "{oops\n")
        assert "broken  line 5 is not JSON" in ended.out
        assert "2 decisions: allow 2\n1 line is broken" in ended.out

    def test_a_line_longer_than_memory_should_hold_is_named(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with (workbook.here / "audit").open("wb") as file:
            file.write(entry(1).encode())
            file.truncate(200_000_000)  # a hole: it takes no room
            file.seek(0, os.SEEK_END)
            file.write(b"\n" + entry(3).encode())
        tracemalloc.start()
        try:
            ended = workbook("audit", "audit")
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert ended.exit == 1
        assert "broken  line 2 is longer than 16,777,216 bytes" in ended.out
        assert "call_3\n" in ended.out
        assert peak < 100_000_000

    @pytest.mark.parametrize(
        "time", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "never"]
    )
    def test_a_time_that_is_none_is_shown_as_it_stands(self, time: str, workbook: Workbook) -> None:
        ended = self.show(workbook, entry(1, time=time))
        assert ended.exit == 0
        assert time in ended.out

    def test_more_than_there_are_are_all(self, workbook: Workbook) -> None:
        ended = self.show(workbook, entry(1), "--last", "9" * 20)
        assert ended.exit == 0
        assert "call_1\n" in ended.out

    @pytest.mark.parametrize("depth", [100, 900, 5_000, 50_000])
    def test_an_argument_of_any_depth(self, depth: int, workbook: Workbook) -> None:
        line = entry(1).replace('"1.txt"', "[" * depth + "]" * depth)
        ended = self.show(workbook, line + entry(2))
        assert "call_2\n" in ended.out
        assert "Traceback" not in ended.err

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
    @pytest.mark.parametrize("redirection", ["> /dev/full", "| head -c 1"])
    def test_an_output_that_takes_no_more_is_not_blamed_on_the_file(
        self, redirection: str, tmp_path: Path
    ) -> None:
        (tmp_path / "audit").write_text("".join(entry(1) for _ in range(3_000)), encoding="utf-8")
        ended = in_shell(f'"$@" {redirection}', "audit", str(tmp_path / "audit"))
        assert "cannot be read" not in ended.stderr
        assert "Traceback" not in ended.stderr
        assert ("cannot be written" in ended.stderr) == ("full" in redirection)

    def test_a_line_that_was_cut_off(self, workbook: Workbook) -> None:
        ended = self.show(workbook, entry(1) + entry(2)[:40])
        assert ended.exit == 1
        assert "broken  line 2 is cut off" in ended.out

    def test_it_fits_into_80_columns(self, workbook: Workbook) -> None:
        long = entry(1, reason="word " * 60, arguments={"command": "x" * 500}, call_id="c" * 90)
        ended = self.show(workbook, long)
        assert all(len(line) <= 80 for line in ended.out.splitlines())
        assert "… (+260 characters)" in " ".join(ended.out.split())

    def test_an_empty_audit(self, workbook: Workbook) -> None:
        assert self.show(workbook, "").out == "0 decisions\n"

    def test_no_audit_yet(self, workbook: Workbook) -> None:
        ended = workbook("audit")
        assert (ended.exit, ended.out) == (2, "")
        assert "There is no audit yet." in ended.err
        assert "\n  workbook run --chapter 3 --model human" in ended.err

    @pytest.mark.parametrize("name", ["nowhere", ".", "x" * 300, "x" * 6_000])
    def test_no_such_file(self, name: str, workbook: Workbook) -> None:
        ended = workbook("audit", name)
        assert (ended.exit, ended.out) == (2, "")
        assert name[:60] in ended.err
        assert len(ended.err) < 600
        assert "Traceback" not in ended.err

    def test_it_explains_itself_in_80_columns(self, workbook: Workbook) -> None:
        for name in ("audit", "run"):
            ended = workbook(name, "--help")
            assert ended.exit == 0
            assert all(len(line) <= 80 for line in ended.out.splitlines())
