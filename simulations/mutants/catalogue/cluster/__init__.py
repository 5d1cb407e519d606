"""Mutants of the cluster: who lives, who votes, who owns what, and how that moves."""
