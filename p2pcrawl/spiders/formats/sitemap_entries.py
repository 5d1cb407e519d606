"""Sitemaps, read as they come: no tree is built, so that memory is bounded however long they are, and whoever wrote
them.

Names are taken without their namespaces, since many sitemaps declare none, or a wrong one. What is no well-formed XML
is read as far as libxml2 can make something of it.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urljoin

from lxml import etree

from p2pcrawl.spiders.formats.gzip_members import MAGIC, inflated

CHUNK_SIZE = 65_536
FIELD_SIZE = 16_384
"""Characters of one field: more is no URL and no date."""
FIELDS_MAX = 5_000
"""Fields and alternates of one entry."""
_is_url = re.compile(rb"https?://\S+\Z").match
_SITEMAP_LINE = re.compile(r"\s*sitemap\s*:(.*)", re.IGNORECASE)


class Sitemap:
    """One sitemap or index of sitemaps: iterating yields its entries, once, as dicts.

    An entry holds what stands in its elements (``loc``, ``lastmod``, ``changefreq``, ``priority``...) as text, and
    under ``alternate`` the addresses of its ``xhtml:link`` elements, if there are any. One without ``loc`` is left out.
    """

    def __init__(self, xmltext: str | bytes | Iterable[bytes]) -> None:
        """``xmltext`` is the whole of it, or pieces in their order."""
        if isinstance(xmltext, str):
            xmltext = xmltext.encode()
        self._chunks = iter(plain_chunks(xmltext) if isinstance(xmltext, bytes) else xmltext)
        self._target = _Gatherer()
        self._parser: Any = etree.XMLParser(
            target=self._target,
            recover=True,
            resolve_entities=False,
            no_network=True,
            remove_comments=True,
            remove_pis=True,
        )
        self._ended = False
        while not self._target.root and self._feed():
            pass

    @property
    def type(self) -> str:
        """The name of the root: ``urlset`` or ``sitemapindex``; "" for what is no XML."""
        return self._target.root

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while True:
            entries, self._target.entries = self._target.entries, []
            yield from entries
            if not entries and not self._feed():
                return

    def _feed(self) -> bool:
        """Reads on. Tells whether there was more."""
        if self._ended:
            return False
        chunk = next(self._chunks, b"")
        try:
            if chunk:
                self._parser.feed(chunk)
                return True
            self._parser.close()
        except etree.XMLSyntaxError:
            # Beyond what can be recovered: what came before it counts.
            pass
        self._ended = True
        return bool(self._target.entries)


class _Gatherer:
    """A target of lxml's parsers, which gathers entries and forgets all else."""

    def __init__(self) -> None:
        self.root = ""
        self.entries: list[dict[str, Any]] = []
        self._depth = self._entry_depth = 0
        self._entry: dict[str, Any] | None = None
        self._alternates: list[str] = []
        self._field, self._size = "", 0
        self._text: list[str] = []

    def start(self, tag: str, attributes: Any) -> None:
        self._depth += 1
        name = tag.rpartition("}")[2]
        if self._depth == 1:
            self.root = name
        elif name in ("url", "sitemap") and (self._entry is None or self._depth == self._entry_depth + 1):
            # One within another: the end tag of the first one is missing.
            self._end_entry()
            self._entry, self._entry_depth = {}, self._depth
        elif self._entry is not None and self._depth == self._entry_depth + 1 and len(self._entry) < FIELDS_MAX:
            self._start_field(name, attributes)
        else:
            self._end_field()

    def data(self, text: str) -> None:
        if self._field and self._size < FIELD_SIZE:
            self._text.append(text)
            self._size += len(text)

    def end(self, tag: str) -> None:
        self._end_field()
        if self._entry is not None and self._depth == self._entry_depth:
            self._end_entry()
        self._depth -= 1

    def close(self) -> None:
        self._end_entry()

    def _start_field(self, name: str, attributes: Any) -> None:
        self._end_field()
        if name != "link":
            self._field, self._text, self._size = name, [], 0
        elif len(self._alternates) < FIELDS_MAX and (href := attributes.get("href")):
            self._alternates.append(href)

    def _end_field(self) -> None:
        if self._field and self._entry is not None:
            self._entry[self._field] = "".join(self._text)[:FIELD_SIZE].strip()
        self._field = ""

    def _end_entry(self) -> None:
        self._end_field()
        if self._entry is not None and "loc" in self._entry:
            if self._alternates:
                self._entry["alternate"] = self._alternates
            self.entries.append(self._entry)
        self._entry, self._alternates = None, []


def plain_chunks(body: bytes, size_max: int | None = None) -> Iterator[bytes]:
    """Yields a file in pieces, inflated if it is gzip, without the white space before it.

    Raises ValueError once there is more than ``size_max``. A file that breaks off, or turns into something else, ends
    there.
    """
    size, began = 0, False
    for chunk in _inflated(body) if body.startswith(MAGIC) else _pieces(body):
        size += len(chunk)
        if size_max is not None and size > size_max:
            raise ValueError(f"more than {size_max:,} bytes")
        rest = chunk if began else chunk.lstrip()
        if rest:
            began = True
            yield rest


def text_entries(chunks: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """Yields an entry for each line of a sitemap that is plain text, one URL a line, up to the first that is none."""
    for line in _lines(chunks):
        url = line.removeprefix(b"\xef\xbb\xbf").strip()
        if url and not _is_url(url):
            return
        if url:
            yield {"loc": url.decode("utf-8", "replace")}


def iterloc(it: Iterable[dict[str, Any]], alt: bool = False) -> Iterator[str]:
    """Yields the addresses of entries, each with those of its alternates if ``alt`` says so."""
    for entry in it:
        if entry.get("loc"):
            yield entry["loc"]
        if alt:
            yield from entry.get("alternate") or ()


def lastmod_s(entry: dict[str, Any]) -> float:
    """Returns when the page of an entry was changed, in seconds since 1970: of a day its beginning, in UTC; 0 where the
    entry does not say it, or says nonsense.
    """
    try:
        said = datetime.fromisoformat(str(entry.get("lastmod", "")).strip())
        return max(0.0, (said if said.tzinfo is not None else said.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return 0.0


def sitemap_urls_from_robots(robots_text: str | bytes, base_url: str | None = None) -> Iterator[str]:
    """Yields the addresses of sitemaps that a robots.txt names, made absolute if a base is given."""
    text = robots_text.decode("utf-8", "replace") if isinstance(robots_text, bytes) else robots_text
    for line in re.split(r"[\r\n]+", text.removeprefix("\ufeff")):
        found = _SITEMAP_LINE.match(line)
        if found is None or not (url := found[1].strip()) or "\ufffd" in url:
            continue
        try:
            yield urljoin(base_url or "", url)
        except ValueError:
            continue


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), CHUNK_SIZE):
        yield body[start : start + CHUNK_SIZE]


def _inflated(body: bytes) -> Iterator[bytes]:
    """Inflates gzip piece by piece; what is damaged ends it."""
    with suppress(zlib.error):
        yield from inflated(body)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yields the lines of a file, up to one that is longer than any URL."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        if len(rest) > FIELD_SIZE:
            return
    yield rest
