"""Exercise: stop when the same call fails three times in a row."""
