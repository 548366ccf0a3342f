"""The exercises of chapter 1; each folder is one: statement, solution, starter, tests, hints."""
