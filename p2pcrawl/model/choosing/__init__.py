"""Choosing settings: values in ranks, how they are read, and the names that are Scrapy's and not ours."""
