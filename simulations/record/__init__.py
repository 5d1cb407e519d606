"""The record of a run: what was said to whom when, and what lay on which disk then, taken down outside the peers."""
