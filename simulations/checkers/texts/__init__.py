"""Checkers of pages that say the same."""
