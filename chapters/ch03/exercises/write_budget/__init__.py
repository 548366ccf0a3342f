"""Exercise: at most so many writes in one run."""
