"""`python -m chapters.ch02 --prompt …` is `workbook run --chapter 2 --prompt …`."""

from labs.cli import run_chapter

if __name__ == "__main__":
    run_chapter(str(__package__))
