"""Scrapy's words for where items go, read as destinations of ours."""
