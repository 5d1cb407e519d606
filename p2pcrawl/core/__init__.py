"""Decisions: pure and synchronous. Time and randomness come in as arguments."""
