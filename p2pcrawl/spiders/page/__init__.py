"""A page as a callback reads it: decoded, parsed and selected from, within limits."""
