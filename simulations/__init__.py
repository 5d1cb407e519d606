"""Deterministic simulations of p2pcrawl: virtual time, an in-memory network, one seed per run."""
