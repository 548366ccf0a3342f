"""Exercise: a yes that outlives the program, for exactly the call it was given to."""
