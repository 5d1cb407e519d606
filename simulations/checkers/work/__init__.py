"""Laws of the crawl: pages, items, fetches, manners, and what is said of them."""
