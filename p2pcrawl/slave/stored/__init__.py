"""Stored pages in place of the web: answers made of raw pages, and the way to those of other machines."""
