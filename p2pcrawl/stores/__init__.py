"""Where items end up: output files that a crash can neither tear nor double."""
