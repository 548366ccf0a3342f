"""Exercise: how fast the model writes, while it writes."""
