"""A whole page as Markdown."""

from __future__ import annotations

from html_to_markdown import ConversionOptions, PreprocessingOptions, convert

_NOT_SHOWN = ["nav", "[role=navigation]", "button", "select", "noscript", "iframe", "svg"]
"""The library's own list has forms and headers, too: a page that is all in one form would be left without a word."""
_CLEANING = PreprocessingOptions(preset="minimal", remove_navigation=False, remove_forms=False)


def as_markdown(markup: str, url: str) -> str:
    """Writes as Markdown what is shown of a page, but for its navigation; links are absolute."""
    options = ConversionOptions(
        extract_metadata=False, preprocessing=_CLEANING, exclude_selectors=_NOT_SHOWN, base_url=url
    )
    return (convert(markup, options).content or "").strip()
