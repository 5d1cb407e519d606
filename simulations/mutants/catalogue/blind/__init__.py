"""Mistakes that were thought of by reading the protocol's pages, sentence by sentence, and not its checkers."""
