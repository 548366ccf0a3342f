"""Exercise: a workspace whose writes can be taken back."""
