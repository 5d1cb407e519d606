"""Identities, keys, and what seals datagrams and streams with them."""
