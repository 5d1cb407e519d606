"""The public sets of real pages that types are measured on. Nothing of them is kept here but our own labels.

Each is a work tree of its repository: WCXB (``Murrough-Foley/web-content-extraction-benchmark``), the benchmark of
articles (``scrapinghub/article-extraction-benchmark``), autopager (``TeamHG-Memex/autopager``) and the samples of
GerapyAutoExtractor (``Gerapy/GerapyAutoExtractor``). The pages of autopager have no labels: those below are ours.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from p2pcrawl.model.page_type import PageType

NO_ADDRESS: Final = "http://127.0.0.1/12"
"""The address of a page that has none, and one that says nothing."""
TYPES: Final = {
    "article": PageType.ARTICLE,
    "forum": PageType.ARTICLE,
    "documentation": PageType.ARTICLE,
    "product": PageType.ARTICLE,
    "collection": PageType.NAVIGATION,
    "listing": PageType.NAVIGATION,
}
"""The type of each kind of WCXB's labels; pages of services are neither and are left out."""
EMPTY_MAX: Final = 3_000
"""Bytes of a page of WCXB that is no page: what was stored is a redirect or a refusal."""

_PAGER_ARTICLES: Final = frozenset((1, 2, 3, 38, 42, 62, 64, 83, 84, 132, 150, 155, 157))
_PAGER_LEFT_OUT: Final = frozenset(
    (4, 9, 20, 21, 32, 46, 48, 54, 55, 56, 57, 58, 92, 101, 102, 129, 135, 144, 187, 199, 200)
)
"""Broken ones, and those that may be either, such as reviews of one restaurant on ten pages."""
_canonical = re.compile(rb"""<link[^>]+rel=["']?canonical["']?[^>]*href=["']?(https?://[^"'\s>]+)""", re.IGNORECASE)


class LabelledPage(NamedTuple):
    """A real page, and what somebody says that it is."""

    name: str
    url: str
    kind: str
    type: PageType
    html: str

    @property
    def site(self) -> str:
        """The last two names of its host: pages of one site look alike."""
        return ".".join((urlsplit(self.url).hostname or self.name).split(".")[-2:])


def wcxb_pages(folder: Path, split: str) -> Iterator[LabelledPage]:
    """Yields the pages of one split of WCXB, ``dev`` or ``test``. A page that is in both is one of the test set's."""
    for name, about in sorted(json.loads((folder / "metadata.json").read_text())["files"].items()):
        if about["split"] != split or about["page_type"] not in TYPES:
            continue
        body = gzip.decompress((folder / split / "html" / f"{name}.html.gz").read_bytes())
        if len(body) < EMPTY_MAX:
            continue
        url = json.loads((folder / split / "ground-truth" / f"{name}.json").read_text()).get("url") or ""
        if not urlsplit(url).hostname:
            stated = _canonical.search(body)
            url = stated[1].decode("ascii", "replace") if stated else NO_ADDRESS
        kind = about["page_type"]
        yield LabelledPage(name, url, kind, TYPES[kind], body.decode("utf-8", "replace"))


def news_pages(folder: Path) -> Iterator[LabelledPage]:
    """Yields the pages of the benchmark of articles."""
    for name, about in sorted(json.loads((folder / "ground-truth.json").read_text()).items()):
        body = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        yield LabelledPage(name, about["url"], "news", PageType.ARTICLE, body.decode("utf-8", "replace"))


def pager_pages(folder: Path) -> Iterator[LabelledPage]:
    """Yields the pages of autopager, by our labels."""
    data = folder / "autopager" / "data"
    with (data / "data.csv").open(newline="", encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            number = int(row["File Name"])
            if number in _PAGER_LEFT_OUT:
                continue
            html = (data / "html" / f"{number}.html").read_bytes().decode(row["Encoding"], "replace")
            kind = PageType.ARTICLE if number in _PAGER_ARTICLES else PageType.NAVIGATION
            yield LabelledPage(str(number), row["Page URL"], str(kind), kind, html)


def chinese_pages(folder: Path) -> Iterator[LabelledPage]:
    """Yields the samples of GerapyAutoExtractor, which have no addresses."""
    for room, kind in (("detail", PageType.ARTICLE), ("list", PageType.NAVIGATION)):
        for path in sorted((folder / "samples" / room).glob("*.html")):
            yield LabelledPage(path.name, NO_ADDRESS, str(kind), kind, path.read_text("utf-8", "replace"))
