"""`workbook doctor`: what it finds, what it never shows, and a sentence for each broken road."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec

import pytest

from labs.doctor import Finding, Status
from shared.provider_server import Answer, Ending, ProviderServer, Script, completion
from tests.command_line import KEY, Workbook
from tests.spoken import spoken


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


@pytest.mark.parametrize(
    ("values", "words", "text"),
    [
        (
            {},
            (),
            "openai (OpenAI Chat Completions, or any server that speaks it), at the address in "
            "WORKBOOK_BASE_URL",
        ),
        (
            {"WORKBOOK_PROVIDER": "anthropic", "WORKBOOK_BASE_URL": ""},
            (),
            "anthropic (Anthropic Messages), at https://api.anthropic.com",
        ),
        (
            {"WORKBOOK_ANTHROPIC_API_KEY": "k", "WORKBOOK_ANTHROPIC_MODEL": "m"},
            ("--provider", "anthropic"),
            "anthropic (Anthropic Messages), at https://api.anthropic.com",
        ),
        (
            {"WORKBOOK_STRICT": "on", "WORKBOOK_MAX_TOKENS": "9"},
            ("--provider", "ollama"),
            "ollama (Ollama, on this computer), at the address in WORKBOOK_BASE_URL; with your "
            "own max_tokens, strict",
        ),
    ],
)
def test_the_provider_is_named_with_where_it_leads(
    values: dict[str, str],
    words: tuple[str, ...],
    text: str,
    workbook: Workbook,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Plain extras are for the provider of WORKBOOK_PROVIDER, or for whoever is at a plain address.
    workbook.configure("http://localhost:1234/v1", **values)
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    found = findings(workbook, *words)
    assert found["provider"] == Finding("provider", Status.OK, text)
    assert found["settings"].status is Status.OK


def test_a_provider_that_is_none_is_in_the_way(workbook: Workbook) -> None:
    workbook.configure("http://localhost:1234/v1")
    found = findings(workbook, "--provider", "olama", "--live")
    assert found["settings"].status is Status.BAD
    assert "Did you mean ollama?" in found["settings"].text
    assert not any("no variable" in each.text for each in found.values()), "an option is none"
    assert found["live"].text.startswith("Not tried")


def test_a_provider_that_is_named_with_nothing_configured_is_looked_at(workbook: Workbook) -> None:
    for name, said in (
        ("olama", "--provider: there is no provider 'olama'. Did you mean ollama?"),
        ("anthropic", "WORKBOOK_ANTHROPIC_API_KEY and WORKBOOK_ANTHROPIC_MODEL are not set."),
    ):
        found = findings(workbook, "--provider", name)["settings"]
        assert found.status is Status.BAD
        assert found.text.startswith(said)


def test_what_is_tried_is_not_offered(workbook: Workbook) -> None:
    with ProviderServer(Answer(completion(text="ready"))) as server:
        workbook.configure(server.base_url)
        assert findings(workbook, "--live")["settings"].text == "complete"
        assert "doctor --live" in findings(workbook)["settings"].text


def test_a_value_that_a_field_does_not_take_is_in_the_way(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbook.configure("http://localhost:1234/v1")
    monkeypatch.setenv("WORKBOOK_STRICT", "perhaps")
    found = findings(workbook)
    assert found["settings"].status is Status.BAD
    expected = "WORKBOOK_STRICT in the environment takes one of omit, off, on."
    assert found["settings"].text == expected


def test_what_gemini_needs_is_a_note_until_gemini_is_chosen(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(name: str) -> object:
        if name.startswith("google"):
            raise ModuleNotFoundError(name)
        return find_spec(name)

    monkeypatch.setattr("labs.doctor.find_spec", without)
    workbook.configure("http://localhost:1234/v1")
    found = findings(workbook)
    assert found["gemini"].status is Status.NOTE
    assert found["gemini"].text.endswith("pip install -e '.[gemini]'")
    assert found["settings"].status is Status.OK
    for name in ("gemini", "gemini-2"):
        chosen = findings(workbook, "--provider", name)["settings"]
        assert chosen.status is Status.BAD
        assert chosen.text.endswith("pip install -e '.[gemini]'")


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


def test_so_is_one_under_the_name_of_a_provider(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbook.configure("http://localhost:1234/v1")
    own = {"BASE_URL": "http://10.0.0.7:11434/v1", "API_KEY": "k", "MODEL": "m"}
    for what, value in own.items():
        monkeypatch.setenv(f"WORKBOOK_OLLAMA_{what}", value)
    assert findings(workbook)["settings"].status is Status.OK
    found = findings(workbook, "--provider", "ollama")["settings"]
    assert found.status is Status.NOTE
    assert found.text.startswith("WORKBOOK_OLLAMA_BASE_URL begins with http")


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


def test_settings_that_take_a_package_to_read_are_no_trouble_without_it(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbook.configure("http://localhost:1234/v1")
    monkeypatch.setenv("WORKBOOK_MAX_TOKENS", "9")
    monkeypatch.setitem(sys.modules, "pydantic", None)
    found = findings(workbook)["settings"]
    assert found == Finding("settings", Status.NOTE, "Not checked: pydantic is missing.")


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


def test_a_long_name_stands_above_what_is_said_of_it(
    workbook: Workbook, monkeypatch: pytest.MonkeyPatch
) -> None:
    workbook.configure("http://localhost:1234/v1")
    short = workbook("doctor").out
    monkeypatch.setenv("WORKBOOK_OPENAI_RESPONSES_API_KEY", "k")
    out = workbook("doctor").out
    (line,) = [line for line in out.splitlines() if "OPENAI_RESPONSES" in line]
    assert line == "ok    WORKBOOK_OPENAI_RESPONSES_API_KEY"
    column = next(each.index("set in") for each in short.splitlines() if "set in" in each)
    assert f"\n{line}\n{' ' * column}set in the environment\n" in out


class TestLive:
    """One tiny request, and a sentence for each way in which it can fail."""

    def ask(self, workbook: Workbook, *answers: Script) -> Finding:
        """What the doctor says of a provider that answers like this."""
        with ProviderServer(*answers) as server:
            workbook.configure(server.base_url)
            found = findings(workbook, "--live")["live"]
            assert len(server.requests) == 1
        assert KEY not in found.text
        return found

    def test_a_provider_that_answers(self, workbook: Workbook) -> None:
        found = self.ask(workbook, spoken(completion(text="ready")))
        assert found == Finding("live", Status.OK, "a-model answered and accepts tools, 18 tokens")

    @pytest.mark.parametrize(
        ("provider", "body"),
        [
            ("anthropic", {"stop_reason": "end_turn", "content": [{"type": "text", "text": "y"}]}),
            ("deepseek", completion(text="ready")),
        ],
    )
    def test_another_provider_that_answers(
        self, provider: str, body: dict[str, object], workbook: Workbook
    ) -> None:
        with ProviderServer(spoken({"type": "message", **body})) as server:
            workbook.configure(server.base_url)
            found = findings(workbook, "--live", "--provider", provider)["live"]
        assert found.status is Status.OK, found

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
