"""Texts of pages as they are held against each other: their signatures, and the URLs under which these are records."""
