"""Questions to a data folder, read beside whoever writes it."""
