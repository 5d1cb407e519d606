"""Title, date, author and language of a page as it states them: where a reader of articles found none."""

from __future__ import annotations

import re
from typing import Any, Final

from selectolax.lexbor import LexborHTMLParser

from p2pcrawl.spiders.articles.readers import PageFacts
from p2pcrawl.spiders.articles.structured_data import StructuredData, structured_data

_DATES: Final = "meta[name=date],meta[name=pubdate],meta[itemprop=datePublished],meta[name='dc.date'],time[datetime]"
_day = re.compile(r"\s*(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01]))").match
_language = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{2,8})*\Z").match


def stated_facts(tree: LexborHTMLParser, url: str) -> PageFacts:
    """Reads what a page states of its title, its day of publication and its author."""
    stated = structured_data(tree, url)
    title = _first(stated.opengraph.get("og:title")) or _of_json(stated, "headline")
    return PageFacts(title or None, _date(tree, stated), _author(tree, stated))


def stated_language(tree: LexborHTMLParser) -> str | None:
    """Returns the language that a page names."""
    root = tree.css_first("html[lang]")
    said = (root.attributes["lang"] or "").strip() if root is not None else ""
    if not said:
        meta = tree.css_first("meta[property='og:locale'],meta[http-equiv='content-language' i]")
        said = (meta.attributes.get("content") or "").strip() if meta is not None else ""
    return said.replace("_", "-") if _language(said) else None


def _date(tree: LexborHTMLParser, stated: StructuredData) -> str | None:
    told = [_of_json(stated, "datePublished"), *stated.opengraph.get("article:published_time", ())]
    told += [node.attributes.get("content") or node.attributes.get("datetime") or "" for node in tree.css(_DATES)]
    return next((found[1] for each in told if (found := _day(each))), None)


def _author(tree: LexborHTMLParser, stated: StructuredData) -> str | None:
    named = [name for each in stated.json_ld for name in _names(each.get("author"))]
    if not named:
        meta = tree.css_first("meta[name=author]")
        named = [(meta.attributes.get("content") or "").strip()] if meta is not None else []
        named += [each for each in stated.opengraph.get("article:author", ()) if "://" not in each]
    return "; ".join(dict.fromkeys(filter(None, named))) or None


def _names(author: Any) -> list[str]:
    if isinstance(author, list):
        return [name for each in author for name in _names(each)]
    if isinstance(author, dict):
        author = author.get("name")
    return [author.strip()] if isinstance(author, str) and "://" not in author else []


def _of_json(stated: StructuredData, name: str) -> str:
    return next((each[name] for each in stated.json_ld if isinstance(each.get(name), str)), "")


def _first(values: list[str] | None) -> str:
    return values[0] if values else ""
