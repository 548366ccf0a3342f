"""Exercise: what a schema loses on its way to a provider, and a guard that says so."""
