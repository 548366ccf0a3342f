"""The text of chapter 2 tells the truth: its messages, its broken code, its tables, its links."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from chapters import ch02
from chapters.ch01.openai_chat import OpenAIChat
from chapters.ch01.shell import SPEC, validate
from chapters.ch02 import file_errors
from chapters.ch02.file_content import MAX_BYTES
from chapters.ch02.file_tools import MAX_CHARACTERS, MAX_MATCHES, read_file
from chapters.ch02.local_files import LocalFiles
from chapters.ch02.memory_files import MemoryFiles
from chapters.ch02.naive_path import read_joined
from chapters.ch02.resolving_files import ResolvingFiles
from chapters.ch02.safe_path import MAX_NAME_BYTES, MAX_NAMES, MAX_PATH_BYTES, parse_path
from chapters.ch02.walk import MAX_LINKS
from chapters.ch02.workspace import can_walk
from labs import ch02_file_tools
from shared.errors import ToolError
from shared.facts import Facts
from shared.messages import ToolCall
from shared.ports import WorkspaceFiles
from shared.provider_server import Answer, ProviderServer
from shared.scripted import call, says
from shared.testing import fake_kit, run_script
from tests.text_checks import ROOT, dead_links, missing_tests, page_of
from tests.vectors.safe_path import Runner, load
from tests.vectors.worker import Files

PAGE = page_of(2)
CHAPTER = ROOT / "chapters" / "ch02"
ROWS = {row.id: row for row in load(ROOT / "tests" / "vectors" / "safe-path.jsonl")}


def run_block(name: str) -> dict[str, Any]:
    """What a block of the page defines, run as the file that a reader makes of it."""
    names: dict[str, Any] = {"__name__": "typed_from_the_page"}
    exec(compile(PAGE.block(name), name, "exec", dont_inherit=True), names)
    return names


async def results_of(*calls: ToolCall, files: WorkspaceFiles) -> list[str]:
    """What the model reads after a reply with these calls."""
    run = await run_script(ch02.plan, [says(*calls), says("done")], files=files)
    assert run.error is None
    return [result.text for result in run.results]


# The messages.


def completion(message: dict[str, Any]) -> Answer:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    return Answer({"choices": [{"index": 0, "message": message, "finish_reason": finish}]})


@pytest.mark.anyio
async def test_the_messages_on_the_page_are_what_the_adapter_sends() -> None:
    messages = json.loads(PAGE.block("the fourth request"))
    escape = {"name": "read_file", "arguments": '{"path": "../secret.txt"}'}
    replies = [message for message in messages if message["role"] == "assistant"] + [
        {"tool_calls": [{"id": "call_5", "type": "function", "function": escape}]},
        {"content": "I cannot read it."},
    ]
    with ProviderServer(*[completion(reply) for reply in replies]) as server:
        async with OpenAIChat(
            base_url=server.base_url, api_key="some-key", model="your-model"
        ) as model:
            kit = fake_kit(model, files=MemoryFiles())
            await ch02.plan(kit).build(kit).ask(messages[0]["content"])
    bodies = [request.body for request in server.requests]
    assert len(bodies) == 5
    assert bodies[3]["messages"] == messages
    assert bodies[4]["messages"][-1] == json.loads(PAGE.block("the refusal"))
    assert bodies[0]["tools"][1] == json.loads(PAGE.block("the offer"))
    offered = [tool["function"]["name"] for tool in bodies[0]["tools"]]
    listed = ", ".join(f"`{name}`" for name in offered)
    assert f"always in the same order: {listed}." in PAGE.text


# The first dispatcher.

Dispatch = Callable[[str, str], str]


@pytest.fixture
def dispatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dispatch:
    """The function on the page, in a workspace with a file, and a secret beside it."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    monkeypatch.chdir(workspace)
    Path("a.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    Path("../secret.txt").write_text("secret\n", encoding="utf-8")
    function: Dispatch = run_block("the first dispatcher")["dispatch"]
    return function


def ask(dispatch: Dispatch, name: str, **arguments: Any) -> str:
    return dispatch(name, json.dumps(arguments))


ALL = "one\ntwo\nthree\n"


def test_the_first_dispatcher_works(dispatch: Dispatch) -> None:
    assert ask(dispatch, "write_file", path="b.txt", content="new\n") == "Wrote the file"
    assert ask(dispatch, "read_file", path="b.txt") == "new\n"
    assert ask(dispatch, "read_file", path="a.txt", limit=2) == "one\ntwo\n"


def missing_content(dispatch: Dispatch) -> None:
    with pytest.raises(KeyError):
        ask(dispatch, "write_file", path="a.txt")
    assert Path("a.txt").read_text() == ""


def unknown_name(dispatch: Dispatch) -> None:
    assert ask(dispatch, "delete_file", path="a.txt") is None


def what_it_was_told(dispatch: Dispatch) -> None:
    assert ask(dispatch, "read_file", path="a.txt", max_lines=2) == ALL


def number_as_text(dispatch: Dispatch) -> None:
    with pytest.raises(TypeError):
        ask(dispatch, "read_file", path="a.txt", limit="2")


def true_as_number(dispatch: Dispatch) -> None:
    assert ask(dispatch, "read_file", path="a.txt", limit=True) == "one\n"


def no_limit_at_all(dispatch: Dispatch) -> None:
    assert ask(dispatch, "read_file", path="a.txt", limit=0) == ""
    assert ask(dispatch, "read_file", path="a.txt", limit=-1) == "one\ntwo\n"


def misspelled(dispatch: Dispatch) -> None:
    assert ask(dispatch, "read_file", path="a.txt", limt=2) == ALL


def way_out(dispatch: Dispatch) -> None:
    assert ask(dispatch, "read_file", path="../secret.txt") == "secret\n"


def line_ends(dispatch: Dispatch) -> None:
    Path("dos.txt").write_bytes(b"one\r\ntwo\r\n")
    assert ask(dispatch, "read_file", path="dos.txt") == "one\ntwo\n"


BREAKS = [
    missing_content,
    unknown_name,
    what_it_was_told,
    number_as_text,
    true_as_number,
    no_limit_at_all,
    misspelled,
    way_out,
    line_ends,
]


@pytest.mark.parametrize("breaks", BREAKS, ids=lambda breaks: breaks.__name__)
def test_an_input_that_breaks_the_first_dispatcher(
    breaks: Callable[[Dispatch], None], dispatch: Dispatch
) -> None:
    breaks(dispatch)


def test_every_row_of_the_table_of_breaks_has_its_test() -> None:
    numbers = re.findall(r"^\| (\d+) \|", PAGE.text, re.MULTILINE)
    assert numbers == [str(number) for number in range(1, len(BREAKS) + 1)]


# Text becomes a call.


def test_the_two_texts_of_chapter_one_have_drifted() -> None:
    schema = SPEC.parameters["properties"]["command"]
    assert set(schema) == {"type", "minLength", "description"}  # so a space obeys it
    assert schema["minLength"] <= len(" ")
    with pytest.raises(ToolError):
        validate({"command": " "})


def test_what_a_helpful_reader_makes_of_it() -> None:
    class Helpful(BaseModel):
        limit: int | None = None

    sent: list[tuple[dict[str, object], int | None]] = [
        ({"limit": "10"}, 10),
        ({"limit": True}, 1),
        ({"limit": 2.0}, 2),
        ({"limt": 10}, None),
    ]
    strict = read_file(MemoryFiles())
    for arguments, taken_for in sent:
        assert Helpful.model_validate(arguments).limit == taken_for
        with pytest.raises(ToolError, match="lim"):
            strict.validate({"path": "a.txt", **arguments})


def test_the_tool_on_the_page_obeys_every_rule_of_the_chapter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = run_block("a tool in one line")
    assert capsys.readouterr().out == PAGE.block("what the tool prints")
    before = [tool.name for tool in ch02.plan(fake_kit()).tools]
    assert [tool.name for tool in names["plan"](fake_kit()).tools] == [*before, "count_lines"]


@pytest.mark.anyio
async def test_a_read_after_an_edit_in_one_reply_sees_the_edit() -> None:
    files = MemoryFiles({"a.txt": "alpha\n"})
    results = await results_of(
        call("edit_file", path="a.txt", old_text="alpha", new_text="gamma"),
        call("read_file", path="a.txt"),
        files=files,
    )
    assert results == ["Edited a.txt", "gamma\n"]


@pytest.mark.anyio
async def test_two_edits_of_one_reply_land_where_they_were_meant() -> None:
    """By line number, the second one would change what has become the third line: `two`."""
    files = MemoryFiles({"a.txt": "one\ntwo\nthree\n"})
    await results_of(
        call("edit_file", path="a.txt", old_text="one\n", new_text="one\none and a half\n"),
        call("edit_file", path="a.txt", old_text="three", new_text="3"),
        files=files,
    )
    assert await files.read_text("a.txt") == "one\none and a half\ntwo\n3\n"


# Text becomes a file.

needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need developer mode there")


class Joined:
    """Reads as step 1 of the page does."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def read_text(self, path: str) -> str:
        return read_joined(self._root, path)


def open_joined(root: Path) -> AbstractContextManager[Files]:
    return nullcontext(Joined(root))  # type: ignore[arg-type]


def test_comparing_prefixes_fails_the_row_that_the_page_names() -> None:
    runner = Runner(open_joined)
    try:
        assert runner.complaints(ROWS["sp-009"])
    finally:
        runner.stop()


def test_every_row_that_the_page_names_exists() -> None:
    assert set(re.findall(r"`(sp-\d+)`", PAGE.text)) <= set(ROWS)


@needs_links
@pytest.mark.anyio
async def test_a_link_to_nothing_is_written_through(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "notes.txt").symlink_to("../outside.txt")
    adapters: list[type[LocalFiles | ResolvingFiles]] = [LocalFiles, ResolvingFiles]
    for adapter in adapters[not can_walk() :]:
        with adapter(root) as files:
            with pytest.raises(ToolError):
                await files.write_text("notes.txt", "x")
        assert not (tmp_path / "outside.txt").exists()

    names = run_block("the careful write")
    (root / "good.txt").touch()
    (root / "bad.txt").symlink_to(tmp_path)
    names["write"](root, "good.txt", "x")
    with pytest.raises(PermissionError):
        names["write"](root, "bad.txt", "x")  # it is careful as long as there is something
    names["write"](root, "notes.txt", "x")
    assert (tmp_path / "outside.txt").read_text() == "x"


def test_the_examples_of_check_one_get_the_code_of_their_row() -> None:
    tried = 0
    for _, examples, code in PAGE.rows("Step 2: two checks"):
        for example in re.findall(r"`([^`]+)`", examples):
            with pytest.raises(ToolError) as caught:
                parse_path(example)
            assert (example, caught.value.code) == (example, code.strip("`"))
            tried += 1
    assert tried > 10


@pytest.mark.parametrize(
    ("example", "code"),
    [
        ("\ud83d", "invalid_path"),
        ("a\nb", "invalid_path"),
        ("a\u202eb", "invalid_path"),
        ("文" * 86, "path_too_long"),
    ],
)
def test_the_examples_of_check_one_that_cannot_be_shown(example: str, code: str) -> None:
    with pytest.raises(ToolError) as caught:
        parse_path(example)
    assert caught.value.code == code


def test_the_limits_on_the_page_are_those_of_the_code() -> None:
    for limit in (
        f"{MAX_PATH_BYTES:,} bytes, {MAX_NAMES} names, {MAX_NAME_BYTES} bytes a name",
        f"more than {MAX_LINKS} links",
        f"more than {MAX_BYTES:,} bytes, or {MAX_CHARACTERS:,} characters",
        f"{ch02_file_tools.READS:,} reads in a run",
        f"After {MAX_MATCHES:,} paths",
    ):
        assert limit in PAGE.text


def test_the_table_of_error_codes_is_complete() -> None:
    listed = [row[0].strip("`") for row in PAGE.rows("Error codes")]
    source = "\n".join(path.read_text(encoding="utf-8") for path in CHAPTER.glob("*.py"))
    raised = set(re.findall(r"(?:ToolError|file_error)\(\s*\"(\w+)\"", source))
    raised |= set(file_errors._MESSAGES)
    assert len(listed) == len(set(listed))
    assert set(listed) == raised - {"invalid_arguments"}  # that one is the dispatcher's


# When it goes wrong.


async def refusal(awaitable: Awaitable[object]) -> str:
    with pytest.raises(ToolError) as caught:
        await awaitable
    return caught.value.message


async def absolute_path(root: Path) -> str:
    (text,) = await results_of(call("read_file", path=str(root / "a.txt")), files=MemoryFiles())
    return text


async def link_with_an_absolute_target(root: Path) -> str:
    (root / "link").symlink_to(root / "a.txt")
    with LocalFiles(root) as files:
        return await refusal(files.read_text("link"))


async def name_that_windows_cannot_hold(root: Path) -> str:
    (root / "12:30.txt").write_text("x")
    with LocalFiles(root) as files:
        return await refusal(files.read_text("12:30.txt"))


async def pattern_that_does_not_match(root: Path) -> str:
    files = MemoryFiles({"src/a.py": "", "src/b.pyi": ""})
    first, second, found = await results_of(
        call("glob", pattern="*.py"),
        call("glob", pattern="src/*.{py,pyi}"),
        call("glob", pattern="**/*.py"),
        files=files,
    )
    assert (first, found) == (second, "src/a.py")
    return first


async def carriage_return_left_out(root: Path) -> str:
    return await refusal(MemoryFiles({"a.txt": "one\r\ntwo\r\n"}).edit_text("a.txt", "e\nt", "x"))


async def no_write_bit(root: Path) -> str:
    (root / "a.txt").chmod(0o444)
    with LocalFiles(root) as files:
        return await refusal(files.write_text("a.txt", "x"))


async def another_encoding(root: Path) -> str:
    return await refusal(MemoryFiles({"a.txt": "ä".encode("utf-16")}).read_text("a.txt"))


async def number_sent_as_text(root: Path) -> str:
    tool_call = call("read_file", path="a.txt", limit="10")
    (text,) = await results_of(tool_call, files=MemoryFiles())
    return text


async def name_that_is_taken(root: Path) -> str:
    kit = fake_kit()
    plan = ch02.plan(kit).with_tools(read_file(MemoryFiles()))
    with pytest.raises(ValueError, match="read_file") as caught:
        plan.build(kit)
    return str(caught.value)


async def handler_that_raises(root: Path) -> str:
    class Broken(MemoryFiles):
        async def read_text(self, path: str) -> str:
            raise KeyError(path)

    (text,) = await results_of(call("read_file", path="a.txt"), files=Broken())
    return text


async def system_without_links(root: Path) -> str:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1314, "a required privilege is not held by the client")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "symlink_to", refuse)
        with (root / "out").open("w+", encoding="utf-8") as out:
            await ch02_file_tools.race(Facts(out), root, out)
            out.seek(0)
            return out.read()


SYMPTOMS = [
    absolute_path,
    link_with_an_absolute_target,
    name_that_windows_cannot_hold,
    pattern_that_does_not_match,
    carriage_return_left_out,
    no_write_bit,
    another_encoding,
    number_sent_as_text,
    name_that_is_taken,
    handler_that_raises,
    system_without_links,
]


@pytest.mark.anyio
@pytest.mark.skipif(not can_walk(), reason="half of them need a disk with links and mode bits")
@pytest.mark.parametrize("number", range(len(SYMPTOMS)), ids=lambda n: SYMPTOMS[n].__name__)
async def test_a_symptom_of_the_table_can_be_produced(number: int, tmp_path: Path) -> None:
    rows = PAGE.rows("When it goes wrong")
    assert len(rows) == len(SYMPTOMS)
    (tmp_path / "a.txt").write_text("text\n")
    quoted = re.match(r"`([^`]+)`", rows[number][0])
    assert quoted
    assert quoted[1] in await SYMPTOMS[number](tmp_path)


# What the page points to.


def test_the_exercises_on_the_page_are_those_there_are() -> None:
    named = re.findall(r"^- \[`02/(\w+)`\]", PAGE.section("Exercises"), re.MULTILINE)
    folders = [path.parent.name for path in CHAPTER.glob("exercises/*/solution.py")]
    assert sorted(named) == sorted(folders)


def test_the_adapters_on_the_page_are_those_under_the_contract() -> None:
    from chapters.ch02.tests import test_files_contract

    named = re.findall(r"\[`(\w+)`\]", " ".join(row[0] for row in PAGE.rows("Ports and adapters")))
    source = inspect.getsource(test_files_contract.workspace)
    assert len(named) == 3
    assert [name for name in named if name not in source] == []


def test_every_test_the_page_names_exists() -> None:
    assert missing_tests(PAGE) == []


def test_every_relative_link_leads_somewhere() -> None:
    assert dead_links(PAGE) == []
