"""`python -m chapters.ch05 --prompt …` is `workbook run --chapter 5 --prompt …`."""

from labs.cli import run_chapter

if __name__ == "__main__":
    run_chapter(str(__package__))
