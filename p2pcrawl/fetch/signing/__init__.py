"""Signed identity: requests that prove who sends them, by HTTP Message Signatures as Web Bot Auth profiles them."""
