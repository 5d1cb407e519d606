"""The entries of news feeds as plain dicts, whatever the feed is written in: RSS 0.9x, 1.0 and 2.0, Atom 0.3 and 1.0,
JSON Feed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from lxml import etree

from p2pcrawl.spiders.formats.xml_nodes import xml_nodes
from p2pcrawl.spiders.page.links import normalise
from p2pcrawl.spiders.page.response import Response

TITLE_SIZE = 4_096
_DIGITS_MAX = 18
_XML_BASE = "{http://www.w3.org/XML/1998/namespace}base"
_ABOUT = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}about"
_CONTENT = "http://purl.org/rss/1.0/modules/content/"
_DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"
_MEDIA = "http://search.yahoo.com/mrss/"
_FIELDS: Mapping[str, str] = {
    # By local name: the namespaces of feeds are often wrong, and of a few, of which the names mean something else.
    "title": "title",
    "description": "summary",
    "summary": "summary",
    "subtitle": "summary",
    "content": "content",
    "body": "content",
    f"{_CONTENT}encoded": "content",
    "guid": "id",
    "id": "id",
    "pubDate": "published",
    "published": "published",
    "issued": "published",
    f"{_DUBLIN_CORE}date": "published",
    "updated": "updated",
    "modified": "updated",
    "author": "author",
    f"{_DUBLIN_CORE}creator": "author",
}
_string = etree.XPath("string()")  # Without comments, which itertext() would tell, too.
_DATES = ("published", "updated")


def news_entries(response: Response) -> Iterator[dict[str, Any]]:
    """Yields the entries of a feed, in its order; none for what is no feed.

    Each holds what it has of ``id``, ``url``, ``title``, ``summary``, ``content``, ``author``, ``published``,
    ``updated``, ``categories``, ``enclosures`` (dicts of ``url``, ``type`` and ``length``) and ``feed``, the feed's
    title. Times are in ISO 8601 where they can be read, URLs absolute.
    """
    start = response.body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{"):
        yield from _of_json(response)
        return
    around = _Around()
    for node in xml_nodes(response, _is_entry, recover=True, around=around):
        entry = _of_xml(node, normalise(node.get(_XML_BASE) or around.base, response.url) or response.url)
        if around.title:
            entry["feed"] = around.title
        yield entry


class _Around:
    """The title of a feed, gathered from what stands around its entries."""

    base = ""

    def __init__(self) -> None:
        self._title = ""

    def __call__(self, tags: list[str], text: str) -> None:
        names = [tag.rpartition("}")[2] for tag in tags[-2:]]
        if names[1:] == ["title"] and names[0] in ("channel", "feed", "rss") and len(self._title) < TITLE_SIZE:
            self._title += text

    @property
    def title(self) -> str:
        return " ".join(self._title.split())[:TITLE_SIZE]


def _is_entry(tag: str, declared: Mapping[str, set[str]]) -> bool:
    return tag.rpartition("}")[2] in ("item", "entry")


def _of_xml(node: Any, base: str) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    for child in node.iterchildren("*"):
        place, _, name = child.tag.rpartition("}")
        place = place[1:]
        if name == "link":
            _add_link(entry, child, base)
        elif name == "enclosure" or (place == _MEDIA and name == "content"):
            size = child.get("length") or child.get("fileSize")
            _add_enclosure(entry, child.get("url"), child.get("type"), size, base)
        elif name in ("category", "subject"):
            _add_category(entry, child.get("term") or _text(child))
        elif place != _MEDIA:
            _add_field(entry, _FIELDS.get(f"{place}{name}") or _FIELDS.get(name), child)
        if name == "guid" and child.get("isPermaLink") != "false" and (url := normalise(_text(child), base)):
            entry.setdefault("url", url)
    if about := node.get(_ABOUT):
        entry.setdefault("id", about)
        entry.setdefault("url", normalise(about, base) or about)
    return entry


def _add_field(entry: dict[str, Any], kind: str | None, node: Any) -> None:
    if kind is not None and (value := _value(kind, node)):
        entry.setdefault(kind, value)


def _value(kind: str, node: Any) -> str:
    if kind == "author":
        name = next((_text(each) for each in node.iterchildren("*") if each.tag.rpartition("}")[2] == "name"), "")
        return name or _text(node)
    text = _markup(node) if node.get("type") == "xhtml" else _text(node)
    return _time(text) if kind in _DATES else text


def _add_link(entry: dict[str, Any], node: Any, base: str) -> None:
    href, rel = node.get("href") or _text(node), node.get("rel") or "alternate"
    url = normalise(href, base) if href else None
    if url is None:
        return
    if rel == "alternate":
        # What stands as the link is it, and not what a guid may be.
        entry["url"] = url
    elif rel == "enclosure":
        _add_enclosure(entry, href, node.get("type"), node.get("length"), base)


def _add_enclosure(entry: dict[str, Any], href: str | None, kind: str | None, length: Any, base: str) -> None:
    url = normalise(href, base) if href else None
    if url is None:
        return
    told = {"url": url, "type": kind, "length": _length(length)}
    entry.setdefault("enclosures", []).append({name: value for name, value in told.items() if value is not None})


def _length(told: Any) -> int | None:
    # A page may write thousands of digits, of which no number is made.
    text = str(told)
    return int(text) if text.isdecimal() and len(text) <= _DIGITS_MAX else None


def _add_category(entry: dict[str, Any], name: str) -> None:
    if name:
        entry.setdefault("categories", []).append(name)


def _text(node: Any) -> str:
    return str(_string(node)).strip()


def _markup(node: Any) -> str:
    """Returns what is within a node as it is written."""
    inner = [etree.tostring(each, encoding="unicode") for each in node]
    return ((node.text or "") + "".join(inner)).strip()


def _time(text: str) -> str:
    """Returns a time in ISO 8601; as it stands where it cannot be read."""
    readers: tuple[Callable[[str], datetime], ...] = (datetime.fromisoformat, parsedate_to_datetime)
    for read in readers:
        try:
            time = read(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            continue
        # Of what says "-0000" the place is not known, and the time is in UTC.
        return (time if time.tzinfo or read is datetime.fromisoformat else time.replace(tzinfo=UTC)).isoformat()
    return text


def _of_json(response: Response) -> Iterator[dict[str, Any]]:
    try:
        feed = json.loads(response.body)
    except (ValueError, RecursionError):
        return
    if not isinstance(feed, dict):
        return
    for item in _dicts(feed.get("items")):
        yield _of_json_item(item, str(feed.get("title") or ""), response.url)


def _of_json_item(item: dict[str, Any], title: str, base: str) -> dict[str, Any]:
    authors = _dicts(item.get("authors") or [item.get("author")])
    found: dict[str, Any] = {
        "id": str(item["id"]) if item.get("id") is not None else "",
        "url": normalise(str(item.get("url") or item.get("external_url") or ""), base),
        "title": item.get("title"),
        "summary": item.get("summary"),
        "content": item.get("content_html") or item.get("content_text"),
        "author": ", ".join(str(each["name"]) for each in authors if each.get("name")),
        "published": _time(str(item.get("date_published") or "")),
        "updated": _time(str(item.get("date_modified") or "")),
        "feed": title,
    }
    entry: dict[str, Any] = {
        name: value.strip() for name, value in found.items() if isinstance(value, str) and value.strip()
    }
    tags = item.get("tags")
    for tag in tags if isinstance(tags, list) else ():
        _add_category(entry, str(tag))
    for each in _dicts(item.get("attachments")):
        _add_enclosure(entry, str(each.get("url") or ""), each.get("mime_type"), each.get("size_in_bytes"), base)
    return entry


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
