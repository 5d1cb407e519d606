"""Rings: bids, tables of views, and the ways to share out buckets among masters."""
