"""HTTP caching as decisions: what of a host's answers may be kept, for how long, and what must be asked again."""
