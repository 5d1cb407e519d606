"""Measurements of pages that say the same: crawled while processes die, and told by their signatures."""
