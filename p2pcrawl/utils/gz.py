"""Bytes that gzip made."""

from p2pcrawl.spiders.aids.zipped import gunzip, gzip_magic_number

__all__ = ["gunzip", "gzip_magic_number"]
