"""The lines that a crawl has for what happens."""

from p2pcrawl.spiders.aids.log_formatter import LogFormatter

__all__ = [
    "LogFormatter",
]
