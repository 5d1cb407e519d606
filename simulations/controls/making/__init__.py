"""The making of controls: the run in which one shows, and the pieces of the peers' code that it swaps."""
