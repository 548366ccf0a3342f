"""Exercise: a model that answers from rules."""
