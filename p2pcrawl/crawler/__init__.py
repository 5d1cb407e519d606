"""Crawls on this machine, from a script."""

from p2pcrawl.crawler.crawl_scripts import CrawlerProcess, CrawlerRunner
from p2pcrawl.crawler.crawl_scripts import CrawlerProcess as AsyncCrawlerProcess
from p2pcrawl.crawler.crawl_scripts import CrawlerRunner as AsyncCrawlerRunner
from p2pcrawl.crawler.event_loops import new_event_loop
from p2pcrawl.crawler.interruption import interruptible
from p2pcrawl.crawler.local_crawl import Crawler
from p2pcrawl.crawler.plans import Target, TogetherBoards, WithArguments

__all__ = [
    "AsyncCrawlerProcess",
    "AsyncCrawlerRunner",
    "Crawler",
    "CrawlerProcess",
    "CrawlerRunner",
    "Target",
    "TogetherBoards",
    "WithArguments",
    "interruptible",
    "new_event_loop",
]
