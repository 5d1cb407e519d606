"""Copies: the owner's side, which makes them, and the holder's, which keeps them."""
