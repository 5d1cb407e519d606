"""Politeness across masters: hosts lent and borrowed."""
