"""Policies of the HTTP cache, to be subclassed."""

from p2pcrawl.slave.middlewares.policy_cache import DummyPolicy, RFC2616Policy

__all__ = ["DummyPolicy", "RFC2616Policy"]
