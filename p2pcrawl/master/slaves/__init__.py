"""Slaves: their processes and sessions, what they are granted, and what comes of it."""
