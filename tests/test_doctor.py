"""`workbook doctor`: what it finds, what it never shows, and a sentence for each broken road."""

from __future__ import annotations

import json

import pytest

from labs.doctor import Finding, Status
from shared.provider_server import Answer, Ending, ProviderServer, completion
from tests.command_line import KEY, Workbook


def findings(workbook: Workbook, *words: str) -> dict[str, Finding]:
    """What the doctor finds, by name."""
    ended = workbook("doctor", "--json", *words)
    found = json.loads(ended.out)
    rows = {
        each["name"]: Finding(each["name"], Status(each["status"]), each["text"])
        for each in found["findings"]
    }
    bad = any(each.status is Status.BAD for each in rows.values())
    assert found["ok"] is not bad
    assert ended.exit == (1 if bad else 0)
    return rows


def test_a_fresh_machine_is_well_without_a_provider(workbook: Workbook) -> None:
    found = findings(workbook)
    for name in ("python", "packages", "dependencies", "pytest", "shell"):
        assert found[name].status is Status.OK, found[name]
    assert found["settings"].status is Status.NOTE
    assert "No provider is configured." in found["settings"].text


def test_settings_are_named_with_their_source_and_never_shown(workbook: Workbook) -> None:
    workbook.configure("http://localhost:1234/v1")
    found = findings(workbook)
    assert found["WORKBOOK_API_KEY"].text == "set in the environment"
    assert found["settings"].status is Status.OK
    ended = workbook("doctor")
    for value in (KEY, "localhost:1234", "a-model"):
        assert value not in ended.out


def test_where_a_file_counts_its_path_is_given(workbook: Workbook) -> None:
    (workbook.here / ".env").write_text("WORKBOOK_MODEL=m\n", encoding="utf-8")
    found = findings(workbook)
    assert found["WORKBOOK_MODEL"].text == f"set in {workbook.here / '.env'}"
    assert found["settings"].status is Status.BAD
    assert "WORKBOOK_API_KEY are not set" in found["settings"].text


def test_a_file_that_cannot_be_read_is_a_finding(workbook: Workbook) -> None:
    (workbook.here / ".env").write_text("WORKBOOK_MODEL='m\n", encoding="utf-8")
    assert "line 1" in findings(workbook)["settings"].text


def test_a_key_in_the_wrong_place_is_not_shown(workbook: Workbook) -> None:
    (workbook.here / ".env").write_text(f"WORKBOOK_{KEY}=x\nWORKBOOK_URL=y\n", encoding="utf-8")
    found = findings(workbook)
    for name in ("WORKBOOK_…", "WORKBOOK_URL"):
        assert found[name].status is Status.NOTE
        assert "no variable of the workbook" in found[name].text
    workbook.configure("http://127.0.0.1:9/v1", WORKBOOK_MODEL=KEY)
    for words in (("doctor",), ("doctor", "--live"), ("run", "--chapter", "1", "--prompt", "hi")):
        ended = workbook(*words)
        shown = ended.out + ended.err
        assert "holds what looks like a key" in " ".join(shown.split())
        assert KEY not in shown


def test_an_unencrypted_way_to_another_machine_is_pointed_out(workbook: Workbook) -> None:
    workbook.configure("http://10.0.0.7:8000/v1")
    found = findings(workbook)["settings"]
    assert found.status is Status.NOTE
    assert "unencrypted" in found.text


def test_what_is_missing_is_in_the_way_and_said_with_a_remedy(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.doctor.find_spec", lambda name: None)
    monkeypatch.setattr("chapters.ch01.platform_shell.find_shell", lambda: None)
    found = findings(workbook)
    assert found["dependencies"].status is Status.BAD
    assert "pip install -e" in found["dependencies"].text
    assert found["pytest"].status is Status.NOTE
    assert found["shell"].status is Status.BAD
    assert "Something is in the way" in workbook("doctor").out


def test_an_old_python_is_in_the_way(workbook: Workbook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.doctor.OLDEST_PYTHON", (9, 9))
    found = findings(workbook)["python"]
    assert found.status is Status.BAD
    assert "9.9 or newer is needed." in found.text


def test_as_text_it_fits_80_columns(workbook: Workbook) -> None:
    workbook.configure("http://localhost:1234/v1")
    ended = workbook("doctor")
    assert ended.exit == 0
    assert ended.out.endswith("\nAll is well.\n")
    own_paths = ("python", "packages")  # are as long as they are
    for line in ended.out.splitlines():
        assert len(line) <= 80 or line.split()[1] in own_paths, line


class TestLive:
    """One tiny request, and a sentence for each way in which it can fail."""

    def ask(self, workbook: Workbook, *answers: Answer) -> Finding:
        """What the doctor says of a provider that answers like this."""
        with ProviderServer(*answers) as server:
            workbook.configure(server.base_url)
            found = findings(workbook, "--live")["live"]
            assert len(server.requests) == 1
        assert KEY not in found.text
        return found

    def test_a_provider_that_answers(self, workbook: Workbook) -> None:
        found = self.ask(workbook, Answer(completion(text="ready")))
        assert found == Finding("live", Status.OK, "a-model answered and accepts tools, 18 tokens")

    @pytest.mark.parametrize(
        ("answer", "sentence"),
        [
            (Answer({"error": {"message": "no"}}, status=401), "The key was not accepted."),
            (Answer({"error": {"message": "no"}}, status=404), "There is no such model or addr"),
            (Answer({"error": {"message": "no tools"}}, status=400), "one that can call tools"),
            (Answer("<html>Log in</html>", content_type="text/html"), "Perhaps a proxy answered"),
            (Answer(b'{"choices', ending=Ending.DROPPED), "failed before there was a whole answer"),
        ],
    )
    def test_a_provider_that_does_not(
        self, answer: Answer, sentence: str, workbook: Workbook
    ) -> None:
        found = self.ask(workbook, answer)
        assert found.status is Status.BAD
        assert sentence in found.text

    @pytest.mark.parametrize(
        ("address", "sentence"),
        [
            ("http://127.0.0.1:9/v1", "Nothing answers at http://127.0.0.1:9/v1."),
            ("http://no-such-host.invalid/v1", "was not found"),
        ],
    )
    def test_nobody_there(self, address: str, sentence: str, workbook: Workbook) -> None:
        workbook.configure(address)
        assert sentence in findings(workbook, "--live")["live"].text

    def test_nothing_configured(self, workbook: Workbook) -> None:
        found = findings(workbook, "--live")["live"]
        assert found == Finding("live", Status.BAD, "Not tried: no provider is configured.")

    def test_with_broken_settings_nothing_is_sent(self, workbook: Workbook) -> None:
        with ProviderServer() as server:
            workbook.configure(server.base_url, WORKBOOK_API_KEY="with a blank")
            found = findings(workbook, "--live")["live"]
            assert server.requests == []
        assert found.text.startswith("Not tried: something else")
