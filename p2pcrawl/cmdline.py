"""Commands, as scripts give them."""

from p2pcrawl.cli.scrapy_words import execute

__all__ = ["execute"]
