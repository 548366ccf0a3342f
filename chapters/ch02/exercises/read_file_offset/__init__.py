"""Exercise: reading a long file piece by piece."""
