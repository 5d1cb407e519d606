"""Requests of special kinds: forms as browsers send them, JSON, XML-RPC, dicts."""
