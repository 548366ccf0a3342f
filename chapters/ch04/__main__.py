"""`python -m chapters.ch04 --prompt …` is `workbook run --chapter 4 --prompt …`."""

from labs.cli import run_chapter

if __name__ == "__main__":
    run_chapter(str(__package__))
