"""Exercises of chapter 5: a folder each, and what their tests share."""
