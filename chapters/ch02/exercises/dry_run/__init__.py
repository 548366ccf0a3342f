"""Exercise: a layer that says what would be written."""
