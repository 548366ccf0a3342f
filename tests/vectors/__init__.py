"""Inputs and right answers as data, and the programs that run them."""
