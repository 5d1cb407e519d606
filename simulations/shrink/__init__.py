"""Shrinking: from a run that fails to the least that still does, as a story and as a plan."""
