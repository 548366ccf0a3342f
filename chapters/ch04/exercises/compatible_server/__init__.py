"""Exercise: one more compatible server, described by its record and by nothing else."""
