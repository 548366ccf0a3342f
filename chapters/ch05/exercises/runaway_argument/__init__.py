"""Exercise: a call that does not end is stopped while it streams."""
