"""`python -m chapters.ch03 --prompt …` is `workbook run --chapter 3 --prompt …`."""

from labs.cli import run_chapter

if __name__ == "__main__":
    run_chapter(str(__package__))
