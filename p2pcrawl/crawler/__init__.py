"""Crawls on this machine, from a script."""

from p2pcrawl.crawler.local_crawl import Crawler, interruptible, new_event_loop

__all__ = ["Crawler", "interruptible", "new_event_loop"]
