"""`workbook read`: a chapter's text in the terminal."""

from __future__ import annotations

import click

from labs.chapter_number import CHAPTER


@click.command("read")
@click.argument("chapter", type=CHAPTER, metavar="N")
@click.option("--answers", is_flag=True, help="Show the answers of the self-test as well.")
@click.option("--proofs", is_flag=True, help="Name the tests behind the sentences.")
@click.option("--section", metavar="NAME", help="Show only one section.")
def command(chapter: int, answers: bool, proofs: bool, section: str | None) -> None:
    """Read chapter N here. On GitHub or in an editor it is chapters/chNN/README.md.

    The text is paged on a terminal (q leaves) and printed as Markdown into a pipe. A section is
    named by the beginning of its heading, or by its anchor.
    """
    from labs.desk.book import this_book
    from labs.desk.page import show
    from labs.desk.proof_links import has_proofs
    from labs.desk.sections import cut_section
    from labs.desk.terminal_text import for_terminal

    book = this_book()
    path = book.text_of(chapter)
    text = path.read_text(encoding="utf-8")
    if section is not None:
        text = cut_section(text, section)
    hidden = (
        f"Answers are hidden: `workbook quiz {chapter}` asks them one by one; "
        f"`workbook read {chapter} --answers` shows them."
    )
    shown = for_terminal(
        text,
        folder=book.show(path.parent),
        answers=None if answers else hidden,
        proofs=proofs,
    )
    if has_proofs(text) and not proofs:
        title, _, rest = shown.partition("\n")
        note = f"*Tests prove this text: `workbook read {chapter} --proofs` names them.*"
        shown = f"{title}\n\n{note}\n{rest}"
    show(shown)
