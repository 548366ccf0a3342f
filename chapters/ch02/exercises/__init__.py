"""Exercises of chapter 2: a folder each, and what several of them share."""
