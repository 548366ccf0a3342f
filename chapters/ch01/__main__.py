"""`python -m chapters.ch01 --prompt …` is `workbook run --chapter 1 --prompt …`."""

from labs.cli import run_chapter

if __name__ == "__main__":
    run_chapter(str(__package__))
