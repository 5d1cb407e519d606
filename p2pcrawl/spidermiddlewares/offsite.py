"""Requests beyond the domains of a spider."""

from p2pcrawl.slave.middlewares.spider_stand_ins import OffsiteMiddleware

__all__ = ["OffsiteMiddleware"]
