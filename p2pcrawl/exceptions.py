"""Exceptions that people raise, and catch."""

from p2pcrawl.model.errors import CloseSpider, DropItem, IgnoreRequest, NotConfigured, NotSupported

__all__ = ["CloseSpider", "DropItem", "IgnoreRequest", "NotConfigured", "NotSupported"]
