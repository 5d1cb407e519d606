"""Webhooks: items posted to somebody's HTTP server, signed, each with a key by which it is taken once."""
