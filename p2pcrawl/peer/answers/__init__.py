"""Answers of a peer: the cluster and its jobs, counts, explanations, results."""
