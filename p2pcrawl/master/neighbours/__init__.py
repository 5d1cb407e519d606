"""The other masters: the way to one, who is missing, and what is published in the directory."""
