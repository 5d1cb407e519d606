"""Visitors, as hosts see them: which user agent they show, and the sessions of a pool."""
