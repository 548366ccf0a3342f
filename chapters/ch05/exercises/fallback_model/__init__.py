"""Exercise: another model when the first one is down."""
