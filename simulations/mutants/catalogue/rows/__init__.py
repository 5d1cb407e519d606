"""Mutants of the rows: how they are stored, copied and kept for others."""
