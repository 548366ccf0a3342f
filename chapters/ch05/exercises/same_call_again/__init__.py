"""Exercise: a model that asks for the same thing again and again is told so."""
