"""Kinds of spiders for what sites commonly offer: links by rules, sitemaps, feeds in XML, CSV, RSS, Atom and JSON."""
