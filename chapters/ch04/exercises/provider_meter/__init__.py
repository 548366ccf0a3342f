"""Exercise: what a run has cost, by whoever answered, and what nobody has said about it."""
