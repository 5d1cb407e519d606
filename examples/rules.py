"""A spider without code for its links: rules say which of them are followed, and which lead to the data.

    python examples/rules.py https://quotes.toscrape.com/ authors.csv

The same spider runs from the command line: p2pcrawl crawl examples/rules.py -a site=URL -o authors.csv
"""

import sys

from p2pcrawl import Crawler
from p2pcrawl.linkextractors import LinkExtractor
from p2pcrawl.spiders import CrawlSpider, Rule


class AuthorsByRules(CrawlSpider):
    name = "authors-by-rules"
    rules = (
        Rule(LinkExtractor(allow="/author/"), callback="parse_author"),
        Rule(LinkExtractor(restrict_css="li.next")),
    )

    def __init__(self, site="https://quotes.toscrape.com/", **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse_author(self, response):
        """Takes the data of an author's page, to which a link led that the first rule wanted."""
        yield {
            "name": response.css("h3::text").get(),
            "born": response.css(".author-born-date::text").get(),
            "link": response.meta["link_text"],
        }


if __name__ == "__main__":
    site, output = sys.argv[1:]
    certificate = Crawler(AuthorsByRules, arguments={"site": site}, output=output).run()
    print(f"{certificate['items']} authors from {certificate['pages']} pages are in {output}")
