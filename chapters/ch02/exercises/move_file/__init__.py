"""Exercise: a tool that moves a file and loses nothing."""
