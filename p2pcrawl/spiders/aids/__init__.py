"""Aids: small functions that spiders and components import, by the names that they have in ``scrapy.utils``."""
