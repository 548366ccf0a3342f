"""`workbook run`: one task from the command line to the exit code, over a real connection."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from labs.catalog import chapter_numbers, plan_of
from labs.commands.run import _standard_input
from shared.conversation import DEFAULT_MAX_TURNS
from shared.plan import Kit, Plan
from shared.provider_server import Answer, Ending, ProviderServer, completion, wire_call
from shared.provider_stream import sse, stream_of, streamed
from tests.command_line import KEY, Workbook, environment, settings, start
from tests.spoken import spoken

RUN = ("run", "--chapter", "2", "--prompt")
POSIX = pytest.mark.skipif(os.name == "nt", reason="sends signals")


def test_the_answer_is_all_that_goes_to_standard_output(workbook: Workbook) -> None:
    (workbook.here / "note.txt").write_text("the code word is fjord\n", encoding="utf-8")
    reading = completion(wire_call("c1", "read_file", {"path": "note.txt"}), text="I look.")
    with ProviderServer(Answer(reading), Answer(completion(text="It is fjord."))) as server:
        workbook.configure(server.base_url)
        ended = workbook(*RUN, "what is the code word?")
    assert (ended.exit, ended.out) == (0, "It is fjord.\n")
    assert max(map(len, ended.err.splitlines())) <= 80
    for shown in (
        "chapter 2, model a-model at 127.0.0.1:",
        "(see the environment)",
        "user    what is the code word?",
        "model   I look.",
        'call    read_file {"path": "note.txt"}',
        "result  the code word is fjord",
        "2 turns, 22 tokens sent, 14 received",
    ):
        assert shown in " ".join(ended.err.split("\n"))
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


def test_json_counts_what_came_from_a_cache_if_anything_did(workbook: Workbook) -> None:
    body = completion(text="Fine.")
    body["usage"]["prompt_tokens_details"] = {"cached_tokens": 9}
    with ProviderServer(Answer(body)) as server:
        workbook.configure(server.base_url)
        ended = workbook("run", "--chapter", "4", "--prompt", "x", "--json")
    usage = {"input_tokens": 11, "output_tokens": 7, "cached_tokens": 9}
    assert json.loads(ended.out)["usage"] == usage
    assert "11 tokens sent (9 cached), 7 received" in ended.err


ECHO = {"command": "echo fjord"}


def responses(*output: dict[str, Any]) -> dict[str, Any]:
    """A reply as OpenAI Responses sends it."""
    usage = {"input_tokens": 11, "output_tokens": 7}
    return {"object": "response", "status": "completed", "output": list(output), "usage": usage}


def anthropic(stop: str, *content: dict[str, Any]) -> dict[str, Any]:
    """A reply as Anthropic sends it."""
    usage = {"input_tokens": 11, "output_tokens": 7}
    return {"type": "message", "stop_reason": stop, "content": list(content), "usage": usage}


def gemini(*parts: dict[str, Any]) -> dict[str, Any]:
    """A reply as Gemini sends it."""
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


CHAT = (completion(wire_call("c1", "shell", ECHO)), completion(text="Done."))
GEMINI = (gemini({"functionCall": {"name": "shell", "args": ECHO}}), gemini({"text": "Done."}))
# By provider: the header with the key, the path, what it answers first and then.
SPOKEN = {
    "openai": ("authorization", "/v1/chat/completions", *CHAT),
    "openai-responses": (
        "authorization",
        "/v1/responses",
        responses(
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": "shell",
                "arguments": json.dumps(ECHO),
            }
        ),
        responses(
            {
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "Done."}],
            }
        ),
    ),
    "anthropic": (
        "authorization",
        "/v1/messages",
        anthropic(
            "tool_use", {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": ECHO}
        ),
        anthropic("end_turn", {"type": "text", "text": "Done."}),
    ),
    "gemini": ("x-goog-api-key", "/v1beta/models/a-model:generateContent", *GEMINI),
    "gemini-2": ("x-goog-api-key", "/v1beta/models/a-model:generateContent", *GEMINI),
    "deepseek": ("authorization", "/v1/chat/completions", *CHAT),
}


class TestChoosingAProvider:
    """Any chapter's agent works with any provider; the one on the command line comes first."""

    @pytest.mark.parametrize("chapter", chapter_numbers())
    @pytest.mark.parametrize("provider", SPOKEN)
    def test_every_chapter_speaks_with_every_kind_of_provider(
        self, provider: str, chapter: int, workbook: Workbook
    ) -> None:
        header, path, calling, answering = SPOKEN[provider]
        with ProviderServer(spoken(calling), spoken(answering)) as server:
            # OpenAI's APIs leave the version to the address, the others bring their own.
            brings_it = path not in ("/v1/chat/completions", "/v1/responses")
            workbook.configure(server.base_url.removesuffix("/v1" if brings_it else ""))
            words = ("--prompt", "go", "--provider", provider, "--yes")
            ended = workbook("run", "--chapter", str(chapter), *words)
        assert (ended.exit, ended.out) == (0, "Done.\n"), ended.err
        assert f", provider {provider} (see the environment)" in " ".join(ended.err.split())
        first, second = server.requests
        if chapter >= 5 and "gemini" in provider:
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        assert first.path == second.path == path
        assert first.body.get("stream", False) is (chapter >= 5 and "gemini" not in provider)
        assert first.headers[header].removeprefix("Bearer ") == KEY
        assert "fjord\\n" in json.dumps(second.body)

    @pytest.mark.parametrize(
        ("words", "extra", "first"),
        [
            (("run", "--chapter", "3", "--prompt", "x"), {}, True),
            (("lab", "1", "--live"), {}, True),
            (("run", "--chapter", "4", "--prompt", "x"), {}, False),
            (("run", "--chapter", "3", "--prompt", "x"), {"WORKBOOK_MAX_TOKENS": "9"}, False),
        ],
    )
    def test_up_to_chapter_3_the_client_you_have_read_is_the_one_that_runs(
        self,
        words: tuple[str, ...],
        extra: dict[str, str],
        first: bool,
        workbook: Workbook,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        made: list[str] = []

        def remember(*_: object, **named: str) -> None:
            made.append(named["model"])
            raise LookupError

        monkeypatch.setattr("chapters.ch01.openai_chat.OpenAIChat.__init__", remember)
        for name, value in extra.items():
            monkeypatch.setenv(name, value)
        with ProviderServer(Answer(completion(text="Hi."))) as server:
            workbook.configure(server.base_url)
            if first:
                with pytest.raises(LookupError):
                    workbook(*words)
            else:
                assert workbook(*words).exit == 0
                assert server.requests[0].body.get("max_tokens") == (9 if extra else None)
        assert made == (["a-model"] if first else [])

    def test_variables_with_the_providers_name_are_the_ones_that_a_failure_names(
        self, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refusals = [Answer({"error": {"message": "no"}}, status=401)] * 2
        with ProviderServer(*refusals) as server:
            workbook.configure("http://127.0.0.1:9/v1")
            for name in ("OPENAI", "ANTHROPIC"):
                for what, value in {
                    "BASE_URL": server.base_url, "API_KEY": "own-key-0", "MODEL": "m",
                }.items():  # fmt: skip
                    monkeypatch.setenv(f"WORKBOOK_{name}_{what}", value)
                ended = workbook(*RUN, "x", "--provider", name.lower())
                assert ended.exit == 1
                assert f"Check WORKBOOK_{name}_API_KEY" in " ".join(ended.err.split())
        for received in server.requests:
            assert received.headers["authorization"] == "Bearer own-key-0"

    @pytest.mark.parametrize("words", [(*RUN, "x"), ("lab", "2", "--live")])
    def test_a_plain_key_is_not_carried_to_another_provider(
        self, words: tuple[str, ...], workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        workbook.configure("")
        ended = workbook(*words, "--provider", "anthropic")
        said = " ".join(ended.err.split())
        assert (ended.exit, ended.out) == (2, "")
        assert said.startswith("WORKBOOK_ANTHROPIC_API_KEY and WORKBOOK_ANTHROPIC_MODEL are not")
        assert "so it is not sent to https://api.anthropic.com" in said

    def test_a_name_that_is_none_is_answered_with_the_names(self, workbook: Workbook) -> None:
        workbook.configure("http://127.0.0.1:9/v1")
        ended = workbook(*RUN, "x", "--provider", "antropic")
        said = " ".join(ended.err.split())
        assert (ended.exit, ended.out) == (2, "")
        assert said.startswith(
            "--provider: there is no provider 'antropic'. Did you mean anthropic?"
        )
        assert "Valid: openai, openai-responses, anthropic, gemini" in said

    def test_a_lab_asks_the_provider_of_the_command_line(self, workbook: Workbook) -> None:
        with ProviderServer(Answer({"error": {"message": "Slow down"}}, status=429)) as server:
            workbook.configure(server.base_url)
            ended = workbook("lab", "1", "--live", "--provider", "anthropic")
        assert ended.exit == 1
        assert server.requests[0].path == "/v1/messages"

    def test_a_variable_that_is_none_is_said_before_the_run(self, workbook: Workbook) -> None:
        with ProviderServer(Answer(completion(text="Hi."))) as server:
            lines = {**settings(server.base_url), "WORKBOOK_MAX_TOKEN": "9"}
            text = "".join(f"{name}={value}\n" for name, value in lines.items())
            (workbook.here / ".env").write_text(text, encoding="utf-8")
            ended = workbook(*RUN, "x")
        said = " ".join(ended.err.split())
        assert "note WORKBOOK_MAX_TOKEN is set, but it is no variable of the workbook" in said
        assert "WORKBOOK_MAX_TOKENS is one." in said

    @pytest.mark.parametrize(
        ("provider", "said"),
        [
            ("opnai", "--provider: there is no provider 'opnai'. Did you mean openai?"),
            (KEY, "--provider is none that the workbook knows. Valid: openai,"),
            ("anthropic", "WORKBOOK_ANTHROPIC_API_KEY and WORKBOOK_ANTHROPIC_MODEL are not set."),
            ("openai", "WORKBOOK_OPENAI_BASE_URL, WORKBOOK_OPENAI_API_KEY and "),
        ],
    )
    @pytest.mark.parametrize("words", [(*RUN, "x"), ("lab", "4", "--live")])
    def test_a_name_is_looked_at_though_nothing_is_configured(
        self, words: tuple[str, ...], provider: str, said: str, workbook: Workbook
    ) -> None:
        ended = workbook(*words, "--provider", provider)
        assert (ended.exit, ended.out) == (2, "")
        assert " ".join(ended.err.split()).startswith(said)
        assert KEY not in ended.err

    @pytest.mark.parametrize(
        ("extra", "remark"),
        [
            ({"TOKEN_LIMIT_KEY": "limit"}, "WORKBOOK_TOKEN_LIMIT_KEY has no effect without "),
            ({"TOKEN_LIMIT_KEY": "limit", "MAX_TOKENS": "9"}, None),
            ({"CACHE": "long"}, "WORKBOOK_CACHE has no effect: nothing in a request to openai "),
            ({"EMPTY_CONTENT": "empty"}, None),
        ],
    )
    def test_what_changes_nothing_is_said_before_the_run(
        self,
        extra: dict[str, str],
        remark: str | None,
        workbook: Workbook,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name, value in extra.items():
            monkeypatch.setenv(f"WORKBOOK_{name}", value)
        with ProviderServer(Answer(completion(text="Hi."))) as server:
            workbook.configure(server.base_url)
            ended = workbook(*RUN, "x")
            said = " ".join(ended.err.split())
            assert ("no effect" in said) == (remark is not None)
            assert (remark or "") in said
            found = json.loads(workbook("doctor", "--json").out)["findings"]
            told = [each["text"] for each in found if each["name"] == "fields"]
            assert [each.startswith(remark or "!") for each in told] == [True] * (
                remark is not None
            )

    @pytest.mark.parametrize(
        ("field", "value", "named"),
        [
            ("EXTRA_BODY", '{"messages": [], "model": "x"}', "messages, model"),
            ("HEADERS", '{"Authorization": "x"}', "authorization"),
            ("TOKEN_LIMIT_KEY", "tools", "tools"),
        ],
    )
    def test_what_the_workbook_writes_itself_is_refused_with_the_variable(
        self,
        field: str,
        value: str,
        named: str,
        workbook: Workbook,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        workbook.configure("http://127.0.0.1:9/v1")
        monkeypatch.setenv(f"WORKBOOK_{field}", value)
        for words in ((*RUN, "x"), ("lab", "4", "--live"), ("doctor",)):
            ended = workbook(*words)
            assert ended.exit == (1 if words == ("doctor",) else 2)
            said = " ".join((ended.out + ended.err).split())
            assert f"WORKBOOK_{field} in the environment may not hold {named}: " in said

    def test_what_providers_there_are_is_known_without_loading_a_client(self) -> None:
        program = (
            "import sys\nfrom labs.provider import known_providers\nknown_providers()\n"
            "from labs.kit import open_model\nimport chapters.ch04.adapters\n"
            "print([name for name in ('openai', 'anthropic', 'google.genai', 'httpx2')"
            " if name in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == "[]"


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
        said = " ".join(ended.err.split())
        assert said.endswith("Raise the limit with --max-turns, or give a smaller task.")
        assert max(map(len, ended.err.splitlines())) <= 80

    def test_a_refusal_that_names_a_key_of_the_request_says_what_to_set(
        self, workbook: Workbook
    ) -> None:
        said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
        with ProviderServer(Answer({"error": {"message": said}}, status=400)) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", "4", "--prompt", "go")
        assert ended.exit == 1
        assert "another WORKBOOK_TOKEN_LIMIT_KEY" in " ".join(ended.err.split())
        assert max(map(len, ended.err.splitlines())) <= 80

    def test_a_server_that_cannot_tell_the_usage_of_a_stream_can_be_told_not_to(
        self, workbook: Workbook
    ) -> None:
        said = "Unrecognized request argument supplied: stream_options"
        with ProviderServer(Answer({"error": {"message": said}}, status=400)) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", "5", "--prompt", "go")
        assert ended.exit == 1
        assert "wants WORKBOOK_STREAM_USAGE=false" in " ".join(ended.err.split())

    @pytest.mark.parametrize(
        "error", [{"code": KEY}, {"type": KEY}, {"code": KEY, "type": KEY, "message": KEY}]
    )
    def test_an_error_inside_a_stream_shows_no_key(
        self, error: dict[str, str], workbook: Workbook
    ) -> None:
        begun = stream_of(completion(text="Hello"))[:2]
        spoilt = streamed(*begun, sse({"error": error}))
        whole = streamed(*stream_of(completion(text="Hi.")))
        with ProviderServer(spoilt, whole) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", "5", "--prompt", "go")
        assert (ended.exit, ended.out) == (0, "Hi.\n")
        assert "again   error at the provider, sent again in " in ended.err
        assert KEY not in ended.out + ended.err

    @pytest.mark.parametrize("chapter", ["1", "4", "5"])
    @pytest.mark.parametrize("finish", [KEY, f"a {KEY} b", "x" * 50 + KEY])
    def test_a_finish_reason_shows_no_key(
        self, finish: str, chapter: str, workbook: Workbook
    ) -> None:
        reply = completion(text="Hello", finish=finish)
        answer = streamed(*stream_of(reply)) if chapter == "5" else Answer(reply)
        with ProviderServer(answer) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", chapter, "--prompt", "go")
        assert ended.exit == 1
        assert "unknown finish reason" in " ".join(ended.err.split())
        assert "[key]" in ended.err
        assert KEY[:12] not in ended.out + ended.err

    @pytest.mark.parametrize("required", [True, False])
    def test_a_reply_without_a_reason_names_the_setting_that_takes_it(
        self, required: bool, workbook: Workbook, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        if not required:
            monkeypatch.setenv("WORKBOOK_FINISH_REQUIRED", "false")
        body = completion(text="Hi.")
        body["choices"][0]["finish_reason"] = None
        with ProviderServer(Answer(body)) as server:
            workbook.configure(server.base_url)
            ended = workbook("run", "--chapter", "4", "--prompt", "go")
        assert ended.exit == (1 if required else 0)
        assert ("WORKBOOK_FINISH_REQUIRED=false" in ended.err) == required

    @pytest.mark.parametrize(
        ("provider", "field", "value"),
        [("openai", "MAX_TOOLS", "2"), ("anthropic", "MAX_TOKENS", "null")],
    )
    def test_a_setting_that_no_request_can_be_made_with_is_one_of_usage(
        self,
        provider: str,
        field: str,
        value: str,
        workbook: Workbook,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv(f"WORKBOOK_{field}", value)
        with ProviderServer() as server:
            workbook.configure(server.base_url, WORKBOOK_PROVIDER=provider)
            ended = workbook("run", "--chapter", "4", "--prompt", "go", "--json")
        assert (ended.exit, ended.out, server.requests) == (2, "", [])
        assert f"WORKBOOK_{field}" in ended.err

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
            ((*RUN, "x", "--model", "human", "--provider", "ollama"), "leave out --provider"),
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
