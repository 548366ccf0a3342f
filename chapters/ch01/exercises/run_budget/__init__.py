"""Exercise: a time and output budget for the shell."""
