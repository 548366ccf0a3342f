"""Text and code stay together: excerpts, transcripts, and clear words when they cannot."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from labs.desk.book import Book, DeskError
from labs.desk.docs import generate, pasted_transcripts, refresh, texts
from labs.desk.excerpt import cut_region
from labs.desk.transcript import run_commands, settle

SOURCE = '''\
class A:
    # region: method
    def f(self) -> str:
        """Shown as it is."""
        # region: inner
        return "x"
        # endregion: inner

    # endregion: method

    # region: open
    # region: twice
    # endregion: twice
    # region: twice
    # endregion: twice
    # region: empty

    # endregion: empty
# endregion: late
# region: late
'''


@pytest.fixture
def book(tmp_path: Path) -> Book:
    (tmp_path / "chapters" / "ch01").mkdir(parents=True)
    (tmp_path / "a.py").write_text(SOURCE, encoding="utf-8")
    return Book(tmp_path, tmp_path / "work")


def test_a_region_is_cut_dedented_and_without_markers(book: Book) -> None:
    assert cut_region(book.root, "a.py", "method") == (
        '```python\ndef f(self) -> str:\n    """Shown as it is."""\n    return "x"\n```'
    )
    assert cut_region(book.root, "a.py", "inner") == '```python\nreturn "x"\n```'


@pytest.mark.parametrize(
    ("path", "name", "reason"),
    [
        ("a.py", "gone", "no line with `# region: gone`"),
        ("a.py", "open", "no line with `# endregion: open`"),
        ("a.py", "twice", "2 lines with `# region: twice`"),
        ("a.py", "empty", "'empty' is empty"),
        ("a.py", "late", "ends before it begins"),
        ("b.py", "method", "no file b.py"),
    ],
)
def test_an_unclear_region_is_refused(book: Book, path: str, name: str, reason: str) -> None:
    with pytest.raises(DeskError, match=reason):
        cut_region(book.root, path, name)


def test_a_region_with_a_fence_gets_a_longer_one(book: Book) -> None:
    (book.root / "b.md").write_text("<!-- region: x -->\n```sh\nls\n```\n<!-- endregion: x -->\n")
    assert cut_region(book.root, "b.md", "x") == "````markdown\n```sh\nls\n```\n````"


def page(book: Book, marker: str, body: str = "") -> Path:
    path = book.chapters / "ch01" / "README.md"
    path.write_text(f"# T\n\n<!-- [[[cog {marker} ]]] -->\n{body}<!-- [[[end]]] -->\n", "utf-8")
    return path


def test_a_text_that_drifts_is_seen_and_refreshed(book: Book) -> None:
    path = page(book, 'region("a.py", "inner")', "```python\nold\n```\n")
    (before,) = refresh(book, write=False)
    assert before.drifted
    assert '-old\n+return "x"\n' in before.diff
    assert "old" in path.read_text(encoding="utf-8"), "a check changes nothing"
    list(refresh(book, write=True))
    assert [page.drifted for page in refresh(book, write=False)] == [False]


@pytest.mark.parametrize(
    ("marker", "reason"),
    [
        ('region("a.py", "gone")', r"chapters/ch01/README.md\(3\): a.py: no line"),
        ('console("rm -rf x")', r"README.md\(3\): 'rm -rf x': only workbook, pytest, python"),
        ("console(\"python -c 'exit(3)'\")", r"ended with 3, not 0"),
        ("nonsense(", r"README.md\(3\): '\(' was never closed"),
    ],
)
def test_a_mistake_in_a_marker_is_named_by_its_place(book: Book, marker: str, reason: str) -> None:
    path = page(book, marker)
    with pytest.raises(DeskError, match=reason):
        generate(book, path)


def test_the_texts_are_the_readmes_and_the_hints(book: Book) -> None:
    exercise = book.chapters / "ch01" / "exercises" / "one"
    exercise.mkdir(parents=True)
    for path in (book.root / "README.md", exercise / "README.md", exercise / "hints.md"):
        path.touch()
    page(book, "")
    assert [book.show(path) for path in texts(book)] == [
        "README.md",
        "chapters/ch01/README.md",
        "chapters/ch01/exercises/one/README.md",
        "chapters/ch01/exercises/one/hints.md",
    ]


def test_a_transcript_is_the_same_everywhere(tmp_path: Path) -> None:
    work = tmp_path / "work"
    output = "\n".join(
        [
            f"{tmp_path}/chapters/ch01 {tmp_path}/labs.",
            f"{work}/ch01/a.py",
            f"{Path.home()}/notes" if len(str(Path.home())) > 1 else "~/notes",
            f"{tempfile.gettempdir()}/workbook-lab-abc_123/demo",
            "<object at 0x7f3a2b1c>, pid 8123",
            "3 passed in 0.43s, 2 in 61.20s (0:01:01), stopped after 12 ms",
            "again   rate limit, sent again in 2.0 s as number 2",
            "Python 3.11.7, pytest-9.2.0, pluggy 1.7.0",
            "at 2026-11-29T21:41:02Z",
            "amber-4821 fjord-1234 amber-4821 ember-12",
            "resolve, compare, open: 3,000 reads, 25,924 swaps, 1,179 leaks",
            "the walk: 3,000 reads, 5,494 swaps, 0 leaks",
            "trailing   ",
        ]
    )
    assert settle(output, tmp_path, work) == "\n".join(
        [
            "~/agent-workbook/chapters/ch01 ~/agent-workbook/labs.",
            "work/ch01/a.py",
            "~/notes",
            "/tmp/workspace/demo",
            "<object at 0x…>, pid 4711",
            "3 passed in 0.1s, 2 in 0.1s, stopped after 0.1s",
            "again   rate limit, sent again in 2.0 s as number 2",
            "Python x.y, pytest-x.y, pluggy x.y",
            "at 2030-01-01 12:00",
            "harbor-4711 indigo-4712 harbor-4711 ember-12",
            "resolve, compare, open: 3,000 reads, … swaps, … leaks",
            "the walk: 3,000 reads, … swaps, 0 leaks",
            "trailing",
        ]
    )


def test_commands_are_run_with_their_input_and_share_a_work_folder(book: Book) -> None:
    write = "python -c \"import os; os.makedirs(os.environ['WORKBOOK_WORK'] + '/x')\""
    read = "python -c \"import os; print(os.listdir(os.environ['WORKBOOK_WORK']), input())\""
    shown = run_commands(book.root, [write, read], says="typed\n")
    assert shown == f"$ {write}\n\n$ {read}\n['x'] typed"


def test_a_command_sees_no_provider_and_no_colours(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBOOK_API_KEY", "sk-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    shown = run_commands(book.root, ["python -c 'import os; print(dict(os.environ))'"])
    assert "sk-secret" not in shown
    assert "'NO_COLOR': '1'" in shown
    assert "'COLUMNS': '80'" in shown


def test_a_pasted_transcript_is_found() -> None:
    text = (
        "# T\n"
        "```console\n$ pasted\n```\n"
        '<!-- [[[cog console("workbook list") ]]] -->\n'
        "```console\n$ run\n```\n"
        "<!-- [[[end]]] -->\n"
        "```sh\nnot a transcript\n```\n"
        "```console\n$ pasted again\n```\n"
    )
    assert pasted_transcripts(text) == [2, 13]


def test_a_reader_in_another_folder_gets_the_same(
    book: Book, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "python -c 'import os; print(os.getcwd())'"
    monkeypatch.chdir(tmp_path)
    here = run_commands(book.root, [command])
    monkeypatch.chdir(os.sep)
    assert run_commands(book.root, [command]) == here == f"$ {command}\n~/agent-workbook"
