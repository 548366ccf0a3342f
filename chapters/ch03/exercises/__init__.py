"""Exercises of chapter 3: a folder each, and what their tests share."""
