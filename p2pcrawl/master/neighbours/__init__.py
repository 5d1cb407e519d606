"""Other masters: the way to one, who is missing, and what is said in the directory."""
