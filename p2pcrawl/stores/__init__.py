"""Outputs of items: files that a crash can neither tear nor double."""
