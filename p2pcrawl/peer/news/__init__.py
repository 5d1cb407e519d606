"""News of a cluster: what masters noted, merged for those who listen, and the notes that are taken for it."""
