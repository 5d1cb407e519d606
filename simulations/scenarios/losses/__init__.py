"""Scenarios of losses that are more than the cluster bears, and that it has to tell."""
