"""Retries, for those that ask for them by themselves."""

from p2pcrawl.slave.middlewares.retry_middleware import RetryMiddleware, get_retry_request

__all__ = ["RetryMiddleware", "get_retry_request"]
