"""The time that requests may take."""

from p2pcrawl.slave.middlewares.fetch_stand_ins import DownloadTimeoutMiddleware

__all__ = ["DownloadTimeoutMiddleware"]
