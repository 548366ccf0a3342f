"""What you learn: one directory per chapter, each holding exactly what that chapter adds."""
