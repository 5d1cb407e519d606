"""Cookies."""

from p2pcrawl.slave.middlewares.standing_in import CookiesMiddleware

__all__ = ["CookiesMiddleware"]
