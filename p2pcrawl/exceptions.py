"""Exceptions that people raise, and catch."""

from p2pcrawl.model.errors import CloseSpider, DontCloseSpider, DropItem, IgnoreRequest, NotConfigured, NotSupported

__all__ = ["CloseSpider", "DontCloseSpider", "DropItem", "IgnoreRequest", "NotConfigured", "NotSupported"]
