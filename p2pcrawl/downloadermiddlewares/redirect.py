"""Redirects, by status and by pages."""

from p2pcrawl.slave.middlewares.standing_in import MetaRefreshMiddleware, RedirectMiddleware

__all__ = ["MetaRefreshMiddleware", "RedirectMiddleware"]
