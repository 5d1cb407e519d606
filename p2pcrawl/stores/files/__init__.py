"""Files of items that a crash can neither tear nor double."""
