"""Methods that are overridden."""

from p2pcrawl.spiders.aids.class_search import method_is_overridden

__all__ = ["method_is_overridden"]
