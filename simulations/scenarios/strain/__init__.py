"""Scenarios in which all live, but something is full, late, hot, or untrue."""
