"""The rules of robots.txt."""

from p2pcrawl.slave.middlewares.fetch_stand_ins import RobotsTxtMiddleware

__all__ = ["RobotsTxtMiddleware"]
