"""The answers of a master to what its slaves ask of stored pages."""

from __future__ import annotations

from p2pcrawl.peer.stored.crawled_links import CrawledLinks
from p2pcrawl.peer.stored.page_search import PageSearch
from p2pcrawl.wire.messages.slave_messages import LinksTold, PageTold, SeekLinks, SeekPage


async def sought(crawled: CrawledLinks, search: PageSearch, question: SeekLinks | SeekPage) -> LinksTold | PageTold:
    """Answers a question; whatever is in the way is in the answer."""
    return await crawled.next(question) if isinstance(question, SeekLinks) else await search.page(question)
