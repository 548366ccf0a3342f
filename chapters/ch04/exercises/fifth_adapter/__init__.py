"""Exercise: one more API, written as three pure functions and judged by a set of fixtures."""
