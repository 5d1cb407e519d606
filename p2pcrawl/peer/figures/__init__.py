"""Answers in figures, each over all masters: what failed, what came last, how hosts stand, what was done when."""
