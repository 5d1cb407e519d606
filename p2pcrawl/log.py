"""The log, as it was written to before Scrapy 1.0."""

from logging import CRITICAL, DEBUG, ERROR, INFO, WARNING

from p2pcrawl.spiders.aids.old_log import err, msg

__all__ = [
    "CRITICAL",
    "DEBUG",
    "ERROR",
    "INFO",
    "WARNING",
    "err",
    "msg",
]
