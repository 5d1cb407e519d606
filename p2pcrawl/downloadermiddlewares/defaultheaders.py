"""Headers that all requests get."""

from p2pcrawl.slave.middlewares.standing_in import DefaultHeadersMiddleware

__all__ = ["DefaultHeadersMiddleware"]
