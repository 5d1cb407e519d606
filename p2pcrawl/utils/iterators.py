"""Nodes of XML and rows of CSV, one by one, at the path that Scrapy's users know."""

from p2pcrawl.spiders.formats.csv_rows import csviter
from p2pcrawl.spiders.formats.xml_nodes import xmliter
from p2pcrawl.spiders.formats.xml_nodes import xmliter as xmliter_lxml

__all__ = ["csviter", "xmliter", "xmliter_lxml"]
