"""Draws: what a seed of the swarm adds to its scenario, each kind by dice of its own."""
