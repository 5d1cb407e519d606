"""A spider with two kinds of pages: lists that lead on, and pages of authors that hold the data.

    python examples/quotes.py https://quotes.toscrape.com/ authors.jsonl

The same spider runs from the command line (p2pcrawl crawl examples/quotes.py -a site=URL -o authors.csv), and in a
cluster (p2pcrawl submit examples/quotes.py -a site=URL).
"""

import sys

from p2pcrawl import Crawler, Spider


class Authors(Spider):
    name = "authors"

    def __init__(self, site="https://quotes.toscrape.com/", **arguments):
        super().__init__(**arguments)
        self.start_urls = [site]

    def parse(self, response):
        """Follows lists as they come, and authors in a queue of their own; an author met twice is fetched once."""
        yield response.follow_all(css="div.quote a[href*='/author/']", callback=self.author, kind="detail")
        yield response.follow_all(css="li.next a")

    def author(self, response):
        yield {"name": response.css("h3::text").get(), "born": response.css(".author-born-date::text").get()}


if __name__ == "__main__":
    site, output = sys.argv[1:]
    certificate = Crawler(Authors, arguments={"site": site}, output=output).run()
    print(f"{certificate['items']} authors from {certificate['pages']} pages are in {output}")
