"""Answers that are no pages."""

from p2pcrawl.fetch.components.status import StatusError as HttpError
from p2pcrawl.slave.middlewares.spider_stand_ins import HttpErrorMiddleware

__all__ = ["HttpError", "HttpErrorMiddleware"]
