"""The four file tools as the model meets them: what it sends, what it reads, what changed."""

from __future__ import annotations

import pytest

from chapters import ch02
from chapters.ch02.file_tools import MAX_CHARACTERS, MAX_MATCHES
from chapters.ch02.memory_files import MemoryFiles
from shared.messages import AssistantMessage, Request, Text, ToolCall, ToolResult
from shared.scripted import call, last_result, says
from shared.testing import FakeApprover, run_script

pytestmark = pytest.mark.anyio


async def answers(files: MemoryFiles, *calls: ToolCall) -> list[ToolResult]:
    """The results of some calls, made in one reply, in a workspace in memory."""
    recording = await run_script(ch02.plan, [says(*calls), says("done")], files=files)
    assert recording.error is None
    return recording.results


async def answer(files: MemoryFiles, tool_call: ToolCall) -> ToolResult:
    (result,) = await answers(files, tool_call)
    return result


# read_file


async def test_read_file_returns_the_text_as_it_is() -> None:
    files = MemoryFiles({"a.txt": "one\r\ntwo\n\ufeffthree"})
    assert (await answer(files, call("read_file", path="a.txt"))).text == "one\r\ntwo\n\ufeffthree"


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("a\nb\nc\n", 2, "a\nb\n... (1 more lines)"),
        ("a\nb\nc\n", 3, "a\nb\nc\n"),
        ("a\nb\nc", 3, "a\nb\nc"),
        ("a\nb\nc", 1, "a\n... (2 more lines)"),
        ("a\r\nb\r\nc\r\n", 1, "a\r\n... (2 more lines)"),
        ("a\u2028b\x85c\nd", 1, "a\u2028b\x85c\n... (1 more lines)"),
        ("\n\n\n", 1, "\n... (2 more lines)"),
    ],
)
async def test_a_limit_counts_lines_and_says_how_many_are_left(
    text: str, limit: int, expected: str
) -> None:
    files = MemoryFiles({"a.txt": text})
    assert (await answer(files, call("read_file", path="a.txt", limit=limit))).text == expected


@pytest.mark.parametrize("limit", ["10", True, 0, -1, 2.0])
async def test_what_is_no_positive_integer_is_no_limit(limit: object) -> None:
    result = await answer(MemoryFiles({"a.txt": "a"}), call("read_file", path="a.txt", limit=limit))
    assert result.code == "invalid_arguments"


async def test_a_limit_of_null_means_no_limit() -> None:
    result = await answer(
        MemoryFiles({"a.txt": "a\nb"}), call("read_file", path="a.txt", limit=None)
    )
    assert result.text == "a\nb"


async def test_an_empty_file_does_not_look_like_a_missing_one() -> None:
    files = MemoryFiles({"empty.txt": ""})
    assert (await answer(files, call("read_file", path="empty.txt"))).text == "(empty file)"
    assert (await answer(files, call("read_file", path="gone.txt"))).code == "file_not_found"


async def test_bytes_that_are_not_utf8_are_never_replaced() -> None:
    result = await answer(MemoryFiles({"a.bin": b"a\xff"}), call("read_file", path="a.bin"))
    assert result.code == "invalid_utf8"
    assert "\ufffd" not in result.text


async def test_more_than_a_model_can_read_is_refused_and_a_limit_helps() -> None:
    files = MemoryFiles({"long.txt": "x\n" * MAX_CHARACTERS})
    assert (await answer(files, call("read_file", path="long.txt"))).code == "too_large"
    assert (await answer(files, call("read_file", path="long.txt", limit=1))).text.startswith("x\n")


# write_file


async def test_write_file_counts_bytes_not_characters() -> None:
    files = MemoryFiles()
    result = await answer(files, call("write_file", path="demo/hello.txt", content="你好"))
    assert result.text == "Wrote 6 bytes to demo/hello.txt"
    assert await files.read_text("demo/hello.txt") == "你好"


async def test_an_empty_content_is_a_content() -> None:
    files = MemoryFiles({"a.txt": "old"})
    assert (await answer(files, call("write_file", path="a.txt", content=""))).code is None
    assert await files.read_text("a.txt") == ""


async def test_write_file_runs_unasked_in_this_chapter_and_the_shell_does_not() -> None:
    """The gap that chapter 3 closes."""
    files, approver = MemoryFiles(), FakeApprover("no")
    recording = await run_script(
        ch02.plan,
        [
            says(call("write_file", path="a.txt", content="x"), call("shell", command="ls")),
            says(""),
        ],
        files=files,
        approver=approver,
    )
    assert await files.read_text("a.txt") == "x"
    assert len(approver.questions) == 1
    assert [result.code for result in recording.results] == [None, "permission_denied"]


# edit_file


async def test_edit_file_changes_the_first_match_and_no_other_byte() -> None:
    files = MemoryFiles({"a.txt": b"\xef\xbb\xbfalpha\r\nalpha\rbeta\n"})
    result = await answer(
        files, call("edit_file", path="a.txt", old_text="alpha", new_text="gamma")
    )
    assert result.text == "Edited a.txt"
    assert await files.read_text("a.txt") == "\ufeffgamma\r\nalpha\rbeta\n"


async def test_a_text_that_is_not_there_writes_nothing() -> None:
    files = MemoryFiles({"a.txt": "alpha"})
    result = await answer(files, call("edit_file", path="a.txt", old_text="Alpha", new_text="x"))
    assert result.code == "text_not_found"
    assert await files.read_text("a.txt") == "alpha"


async def test_new_text_may_be_empty_and_is_taken_literally() -> None:
    files = MemoryFiles({"a.txt": "one two", "b.txt": "x"})
    await answer(files, call("edit_file", path="a.txt", old_text=" two", new_text=""))
    await answer(files, call("edit_file", path="b.txt", old_text="x", new_text=r"\1$&"))
    assert await files.read_text("a.txt") == "one"
    assert await files.read_text("b.txt") == r"\1$&"


# glob


async def test_glob_returns_one_sorted_relative_path_a_line() -> None:
    files = MemoryFiles({"demo/b.txt": "", "demo/a.txt": "", "demo/sub/c.txt": "", "top.txt": ""})
    assert (await answer(files, call("glob", pattern="demo/*.txt"))).text == (
        "demo/a.txt\ndemo/b.txt"
    )


async def test_no_match_does_not_look_like_a_failure_or_like_nothing() -> None:
    result = await answer(MemoryFiles(), call("glob", pattern="*.py"))
    assert result == ToolResult("call_1", "glob", "(no matches)")


async def test_more_matches_than_a_model_can_use_are_counted_and_left_out() -> None:
    files = MemoryFiles({f"f{number:04}.py": "" for number in range(MAX_MATCHES + 7)})
    lines = (await answer(files, call("glob", pattern="*.py"))).text.splitlines()
    assert lines[0] == "f0000.py"
    assert lines[MAX_MATCHES:] == ["... (7 more matches; use a narrower pattern)"]


# All of them


@pytest.mark.parametrize(
    "tool_call",
    [
        call("read_file", path=""),
        call("write_file", path="", content="x"),
        call("write_file", path="a.txt"),
        call("edit_file", path="a.txt", old_text="", new_text="x"),
        call("edit_file", path="a.txt", old_text="alpha"),
        call("glob", pattern=""),
        call("read_file", path="a.txt", encoding="latin-1"),
        call("read_file", path=["a.txt"]),
    ],
    ids=lambda each: f"{each.name} {each.arguments}",
)
async def test_arguments_that_break_the_definition_touch_no_file(tool_call: ToolCall) -> None:
    files = MemoryFiles({"a.txt": "alpha"})
    assert (await answer(files, tool_call)).code == "invalid_arguments"
    assert await files.glob("**") == ["a.txt"]
    assert await files.read_text("a.txt") == "alpha"


@pytest.mark.parametrize(
    ("tool_call", "code"),
    [
        (call("read_file", path="../secret.txt"), "path_escape"),
        (call("write_file", path="/etc/passwd", content="x"), "path_escape"),
        (call("edit_file", path="C:\\secret", old_text="a", new_text="b"), "path_escape"),
        (call("glob", pattern="../*"), "path_escape"),
        (call("write_file", path="CON.txt", content="x"), "invalid_path"),
        (call("read_file", path="~/x"), "invalid_path"),
    ],
    ids=lambda each: each.arguments if isinstance(each, ToolCall) else each,
)
async def test_every_tool_goes_through_the_safe_path(tool_call: ToolCall, code: str) -> None:
    files = MemoryFiles({"a.txt": "alpha"})
    assert (await answer(files, tool_call)).code == code
    assert await files.glob("**") == ["a.txt"]


async def test_the_whole_run_of_chapter_two() -> None:
    files = MemoryFiles()

    def report(request: Request) -> AssistantMessage:
        return says(f"Found: {last_result(request).text}")

    recording = await run_script(
        ch02.plan,
        [
            says(call("write_file", path="demo/note.txt", content="alpha\nalpha\n")),
            says(call("edit_file", path="demo/note.txt", old_text="alpha", new_text="gamma")),
            says(call("read_file", path="demo/note.txt"), call("glob", pattern="demo/*.txt")),
            report,
        ],
        files=files,
    )
    assert [result.text for result in recording.results] == [
        "Wrote 12 bytes to demo/note.txt",
        "Edited demo/note.txt",
        "gamma\nalpha\n",
        "demo/note.txt",
    ]
    assert recording.reply == AssistantMessage((Text("Found: demo/note.txt"),))


async def test_a_model_that_is_refused_can_choose_another_path() -> None:
    files = MemoryFiles({"notes/public.txt": "hello"})

    def choose_again(request: Request) -> AssistantMessage:
        assert last_result(request).code == "path_escape"
        return says(call("read_file", path="notes/public.txt"))

    recording = await run_script(
        ch02.plan,
        [says(call("read_file", path="../secret.txt")), choose_again, says("done")],
        files=files,
    )
    assert [result.code for result in recording.results] == ["path_escape", None]
    assert recording.results[1].text == "hello"
