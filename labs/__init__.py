"""What you run: the `workbook` command and one runnable lab per chapter."""
