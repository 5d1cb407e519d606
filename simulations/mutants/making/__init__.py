"""The making of mutants: what one is, and how its edit gets into code that runs."""
