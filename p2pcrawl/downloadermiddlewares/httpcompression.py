"""Answers that hosts have packed."""

from p2pcrawl.slave.middlewares.fetch_stand_ins import HttpCompressionMiddleware

__all__ = ["HttpCompressionMiddleware"]
