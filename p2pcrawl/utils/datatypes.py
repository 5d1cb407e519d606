"""Mappings of special kinds."""

from p2pcrawl.spiders.aids.mappings import CaseInsensitiveDict, LocalCache, SequenceExclude

__all__ = ["CaseInsensitiveDict", "LocalCache", "SequenceExclude"]
