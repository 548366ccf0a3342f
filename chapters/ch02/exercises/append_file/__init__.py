"""Exercise: a tool that adds to the end of a file."""
