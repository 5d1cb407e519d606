"""Counts of requests and answers."""

from p2pcrawl.slave.middlewares.fetch_stand_ins import DownloaderStats

__all__ = ["DownloaderStats"]
