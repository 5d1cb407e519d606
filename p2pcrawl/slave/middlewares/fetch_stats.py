"""The stats of fetches, under the names that Scrapy has for them."""

from __future__ import annotations

from p2pcrawl.fetch.components.chain import Component
from p2pcrawl.model.crawl.answer import Answer
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.errors import FetchError
from p2pcrawl.spiders.hooks.crawl_stats import CrawlStats


class FetchStats(Component):
    """Counts requests, answers and failures in one slave."""

    order = 850

    def __init__(self, stats: CrawlStats) -> None:
        self._stats = stats

    def process_request(self, request: Request) -> None:
        count = self._stats.count_here
        count("downloader/request_count")
        count(f"downloader/request_method_count/{request.method}")
        count("downloader/request_bytes", len(request.body))

    def process_answer(self, request: Request, answer: Answer) -> Answer:
        count = self._stats.count_here
        count("downloader/response_count")
        count(f"downloader/response_status_count/{answer.status}")
        count("downloader/response_bytes", len(answer.body))
        return answer

    def process_error(self, request: Request, error: Exception) -> None:
        kind = error.kind if isinstance(error, FetchError) else type(error).__name__
        self._stats.count_here("downloader/exception_count")
        self._stats.count_here(f"downloader/exception_type_count/{kind}")
