"""A small model of what a cluster promises, written anew from its documents: it knows no line of the peers' code."""
