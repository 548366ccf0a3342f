"""Reading in a terminal: answers stay folded, and nothing shows that only GitHub understands."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from labs.desk.book import Book, DeskError
from labs.desk.diagram import describe
from labs.desk.layout import render
from labs.desk.sections import cut_section, find_sections, locate
from labs.desk.terminal_text import for_terminal

TEXT = """\
# Title

<!-- [[[cog region("a.py", "b") ]]] -->
```python
x = 1  # <!-- not a comment -->
```
<!-- [[[end]]] -->
<!-- a comment
over two lines -->
See [the walk](../ch02/walk.py), [`tests/test_a.py`](tests/test_a.py#test_b), [here](#title),
[site](https://example.org/a_(b)) and ![a picture](x.png).

> [!WARNING]
> Not a sandbox.

<details>
<summary>Aside: a snapshot</summary>

Not an answer.

</details>

## Self-test

<details>
<summary><b>1.</b> Why <code>limit</code>?</summary>

Because.

```python
secret = 1
```

<details>
<summary>More</summary>

Deeper.

</details>

Proof: `a.py::test_a`

</details>

After.
"""


def test_answers_are_folded_until_asked_for() -> None:
    folded = for_terminal(TEXT, folder="chapters/ch01", answers="hidden: --answers")
    assert "## Self-test\n\n*hidden: --answers*\n\n**1. Why `limit`?**\n\nAfter." in folded
    assert folded.count("hidden") == 1
    for word in ("Because", "secret", "Deeper", "More", "Proof"):
        assert word not in folded
    assert "**Aside: a snapshot**\n\nNot an answer." in folded
    shown = for_terminal(TEXT, folder="chapters/ch01", answers=None)
    for word in ("Because", "secret = 1", "**More**", "Deeper", "Proof", "After"):
        assert word in shown
    assert "hidden" not in shown
    assert "details" not in shown


def test_comments_go_but_code_stays() -> None:
    shown = for_terminal(TEXT, folder="chapters/ch01", answers=None)
    assert "cog" not in shown
    assert "two lines" not in shown
    assert "x = 1  # <!-- not a comment -->" in shown


def test_links_are_paths_from_the_root() -> None:
    shown = for_terminal(TEXT, folder="chapters/ch01", answers=None)
    assert "See the walk (`chapters/ch02/walk.py`)" in shown
    assert "`tests/test_a.py`, here,\n" in shown
    assert "site (https://example.org/a_(b)) and (picture: a picture)." in shown


def test_links_to_tests_are_left_out_also_of_tables() -> None:
    row = "| a | [it holds](tests/test_a.py#test_b) | [b](b.py) |\n"
    assert for_terminal(row, folder="x", answers=None) == "| a | it holds | b (`x/b.py`) |\n"


PROVED = """\
# Title

[One\nholds](t.py#test_one), [two](t.py#test_two), [one](t.py#test_one), [a file](t.py).

```python
# [not a link](t.py#test_code)
```
## Next

| a | [three](t.py#test_three) |

## Without

[end](#next)
"""


def test_proofs_are_numbered_and_listed_at_the_end_of_each_section() -> None:
    shown = for_terminal(PROVED, folder="x", answers=None, proofs=True)
    assert "One\nholds [1], two [2], one [1], a file (`x/t.py`)." in shown
    assert "```\n\n```text proofs\n1 test_one\n2 test_two\n```\n\n## Next" in shown
    assert "| a | three [1] |\n\n```text proofs\n1 test_three\n```\n\n## Without" in shown
    assert shown.endswith("## Without\n\nend\n")
    assert "# [not a link](t.py#test_code)" in shown


def test_the_name_of_a_proof_is_never_folded() -> None:
    name = "test_" + "x" * 120
    text = for_terminal(f"[It holds](t.py#{name}).", folder="", answers=None, proofs=True)
    assert f"1 {name}" in render(text, 80, colours=False).splitlines()


def test_code_keeps_its_two_blank_lines_and_prose_gets_one() -> None:
    code = "```python\ndef f(): ...\n\n\ndef g(): ...\n```"
    assert for_terminal(f"a\n\n\n{code}\n\n\n\nb\n", folder="", answers=None) == (
        f"a\n\n{code}\n\nb\n"
    )
    assert "def f(): ...\n\n\ndef g(): ...\n" in render(code, 80, colours=False)


def laid_out(code: str, columns: int) -> list[str]:
    """What stands between two paragraphs, a block of code, on a terminal."""
    page = render(f"before\n\n```python\n{code}\n```\n\nafter\n", columns, colours=False)
    return page.splitlines()[2:-2]


@pytest.mark.parametrize(("length", "columns"), [(80, 80), (100, 100), (100, 200)])
def test_code_that_fits_is_flush_and_whole(length: int, columns: int) -> None:
    code = "    return " + "x" * (length - 11)
    assert laid_out(code, columns) == [code]


def test_text_does_not_use_all_of_a_wide_terminal() -> None:
    page = render("word " * 100, 200, colours=False)
    assert max(len(line) for line in page.splitlines()) <= 88


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        (
            "    call(first_argument, second_argument, third)",
            ["    call(first_argument,", "        ↪ second_argument, third)"],
        ),
        ("x" * 50, ["x" * 40, "    ↪ " + "x" * 10]),
        (
            "a = 1  # " + "long " * 14 + "end",
            [
                "a = 1  # long long long long long long",
                "    ↪ long long long long long long long",
                "    ↪ long end",
            ],
        ),
    ],
)
def test_code_that_does_not_fit_goes_on_further_in_with_a_mark(code: str, lines: list[str]) -> None:
    assert laid_out(code, 40) == lines


def test_a_fold_has_a_mark_on_every_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert laid_out("x" * 50, 40)[1] == "    -> " + "x" * 10


def test_a_fold_ends_however_narrow_and_far_in() -> None:
    code = " " * 70 + "y" * 30
    for columns in (1, 4, 12, 40):
        assert "".join(laid_out(code, columns)).count("y") == 30


WIDE = """\
| field | value | note |
|---|---|---|
| `one` | %s | %s |
| | last | |
"""


def test_a_table_folds_at_words_and_loses_nothing() -> None:
    page = render(WIDE % ("some words " * 6, "`a_name_of_some_length`"), 60, colours=False)
    assert "…" not in page
    assert page.count("words") == 6
    assert "a_name_of_some_length" in page, "a word is not broken if there is room for it"
    assert max(len(line) for line in page.splitlines()) <= 60


def test_a_table_that_does_not_fit_becomes_lists() -> None:
    page = render(WIDE % ("v" * 30, "n" * 30), 60, colours=False)
    assert page.strip("\n").splitlines() == [
        "one",
        "  value: " + "v" * 30,
        "  note: " + "n" * 30,
        "",
        "  value: last",
    ]
    page = render(WIDE % ("v" * 90, "some words " * 12), 60, colours=False)
    assert "…" not in page
    assert (page.count("v") - page.count("value"), page.count("words")) == (90, 12)
    assert max(len(line) for line in page.splitlines()) <= 60


def test_a_link_may_run_over_the_end_of_a_line() -> None:
    assert for_terminal("[two\nwords](b.py)", folder="x", answers=None) == "two\nwords (`x/b.py`)\n"


def test_alerts_get_a_title() -> None:
    shown = for_terminal(TEXT, folder="chapters/ch01", answers=None)
    assert "> **Warning**\n>\n> Not a sandbox." in shown


def test_a_fence_in_a_longer_fence_is_code() -> None:
    text = "````markdown\n```mermaid\nA --> B\n```\n<details>\n````\n\nEnd.\n"
    assert for_terminal(text, folder="", answers="hidden") == text


@pytest.mark.parametrize(
    ("mermaid", "lines"),
    [
        (
            "flowchart LR\n  A[You] -->|prompt| B(Loop)\n  B --> C{Model} & D\n",
            ["You → Loop  (prompt)", "Loop → Model", "Loop → D"],
        ),
        (
            "graph TD\n a([you]) -- asks --> b[(disk)]; \n b -.-> a",
            ["you → disk  (asks)", "disk → you"],
        ),
        (
            'flowchart LR\n x["one<br/>two"] ==> y{{"three"}} --> z',
            ["one two → three", "three → z"],
        ),
        (
            "sequenceDiagram\n participant L as Loop\n L->>+M: ask\n loop until done\n"
            " M-->>-L: reply\n end",
            ["Loop → M: ask", "[loop until done]", "M → Loop: reply"],
        ),
        (
            "flowchart LR\n model -->|reply| loop\n loop --> end_\n you --> loop\n loop --> model",
            ["you → loop", "loop → end_", "loop → model", "model → loop  (reply)"],
        ),
        (
            "flowchart LR\n a --> b\n b & c --> a\n c --> d\n a --> c",
            ["a → b", "a → c", "b → a", "c → a", "c → d"],
        ),
        ("sequenceDiagram\n Note over A,B: both wait\n", ["(both wait)"]),
    ],
)
def test_a_diagram_becomes_its_arrows_from_the_start_on(mermaid: str, lines: list[str]) -> None:
    drawn = describe(mermaid)
    assert drawn == "*Diagram:*\n\n```text\n" + "\n".join(lines) + "\n```"


def test_a_diagram_with_a_description_shows_it() -> None:
    drawn = describe("pie\n accTitle: Where time goes\n accDescr: Half of it waits\n")
    assert drawn == "*Diagram: Where time goes Half of it waits*"
    assert "cannot show" in describe("pie\n")


@pytest.mark.parametrize("width", [80, 60])
def test_a_page_fits_its_width_and_paints_no_ground(width: int) -> None:
    shown = for_terminal(TEXT, folder="chapters/ch01", answers=None)
    page = render(
        shown + "\n| a | b |\n|---|---|\n| " + "long " * 30 + "| `c` |\n", width, colours=True
    )
    assert "\x1b[" in page
    codes = {code for run in re.findall(r"\x1b\[([\d;]*)m", page) for code in run.split(";")}
    assert not [code for code in codes if code.isdigit() and 40 <= int(code) <= 49], codes
    plain = re.sub(r"\x1b\[[\d;]*m", "", page)
    assert max(len(line) for line in plain.splitlines()) <= width
    assert "\x1b" not in render(shown, width, colours=False)


SECTIONS = """\
# One
## The `loop`, and why
```python
# not a heading
```
### Deeper [link](x.md)
## Twice
## Twice
Text.
"""


def test_anchors_are_those_of_github() -> None:
    found = [(section.anchor, section.line) for section in find_sections(SECTIONS)]
    assert found == [
        ("one", 1),
        ("the-loop-and-why", 2),
        ("deeper-link", 6),
        ("twice", 7),
        ("twice-1", 8),
    ]


def test_a_section_is_cut_with_what_is_below_it() -> None:
    assert cut_section(SECTIONS, "#the-loop-and-why").endswith("### Deeper [link](x.md)\n")
    assert cut_section(SECTIONS, "The loop").startswith("## The `loop`")
    assert cut_section(SECTIONS, "twice-1") == "## Twice\nText.\n"
    with pytest.raises(DeskError, match="deeper-link"):
        cut_section(SECTIONS, "nowhere")


def test_a_dead_reference_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(SECTIONS, encoding="utf-8")
    book = Book(tmp_path, tmp_path / "work")
    assert locate(book, "a.md#twice") == ("a.md", 7, "Twice")
    assert locate(book, "a.md") == ("a.md", 1, "")
    for dead in ("a.md#thrice", "b.md#one"):
        with pytest.raises(DeskError):
            locate(book, dead)
