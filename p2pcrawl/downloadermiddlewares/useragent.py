"""The User-Agent of requests."""

from p2pcrawl.slave.middlewares.standing_in import UserAgentMiddleware

__all__ = ["UserAgentMiddleware"]
