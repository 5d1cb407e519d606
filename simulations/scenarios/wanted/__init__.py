"""Scenarios of what jobs are asked for besides pages of the web: other boards as they run, pages that are stored."""
