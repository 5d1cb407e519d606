"""A master: owns the frontier, decides who is asked when, leads its slaves."""
