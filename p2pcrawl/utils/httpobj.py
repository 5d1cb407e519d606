"""URLs of requests and responses, in parts."""

from p2pcrawl.spiders.aids.url_facts import urlparse_cached

__all__ = ["urlparse_cached"]
