"""A cluster on a terminal, live: what is drawn, which key does what, and the verb ``top``."""
