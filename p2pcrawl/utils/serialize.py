"""Items as JSON text."""

from p2pcrawl.spiders.aids.item_text import ScrapyJSONEncoder

__all__ = ["ScrapyJSONEncoder"]
