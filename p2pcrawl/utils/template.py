"""Files made of templates."""

from p2pcrawl.spiders.aids.templates import render_templatefile, string_camelcase

__all__ = ["render_templatefile", "string_camelcase"]
