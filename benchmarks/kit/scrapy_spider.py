"""Scrapy as its documentation shows it, on uvloop: ``python scrapy_spider.py START OUT CONCURRENCY``."""

import sys

import scrapy
from scrapy.crawler import CrawlerProcess


class Everything(scrapy.Spider):
    name = "everything"
    start_urls = sys.argv[1:2]

    def parse(self, response):
        yield {"url": response.url, "title": response.css("title::text").get()}
        for href in response.css("a::attr(href)").getall():
            url = response.urljoin(href)
            if url.startswith("http://127."):
                yield scrapy.Request(url)


process = CrawlerProcess(
    {
        "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
        "CONCURRENT_REQUESTS": int(sys.argv[3]),
        "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[3]),
        "CONCURRENT_ITEMS": 4,  # its default starts 100 tasks for every response and is slower
        "DOWNLOAD_DELAY": 0,
        "ROBOTSTXT_OBEY": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
        "LOG_LEVEL": "WARNING",
        "FEEDS": {sys.argv[2]: {"format": "jsonlines", "overwrite": True}},
    }
)
process.crawl(Everything)
process.start()
