"""Exercise: a table that says how risky a call is."""
