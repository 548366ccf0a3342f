"""Exercise: a second model that can object, and nothing else."""
