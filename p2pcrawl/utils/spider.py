"""Spiders of a module, and what callbacks return."""

from p2pcrawl.spiders.aids.class_search import iter_spider_classes, iterate_spider_output

__all__ = ["iter_spider_classes", "iterate_spider_output"]
