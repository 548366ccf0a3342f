"""What holds for the whole workbook, whatever the chapter."""
