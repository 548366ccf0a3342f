"""Exercise: record a run and replay it."""
