"""Crawls on this machine, from a script."""

from p2pcrawl.crawler.local_crawl import Crawler, Target, interruptible, new_event_loop

__all__ = ["Crawler", "Target", "interruptible", "new_event_loop"]
