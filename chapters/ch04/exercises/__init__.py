"""Exercises of chapter 4: a folder each, and what their tests share."""
