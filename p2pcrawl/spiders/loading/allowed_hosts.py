"""The hosts that a spider stays within, and what is odd about how it says so."""

from __future__ import annotations

from itertools import islice

from p2pcrawl.model.crawl.domains import is_within, read_domains
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.spiders.spider import Spider

START_URLS_LOOKED_AT = 1_000


def bounds_of(spider: Spider) -> tuple[list[str], list[str]]:
    """Returns the hosts of ``allowed_domains``, none for no bound, and a line for each oddity.

    Where something is named and no host can be read from it, these are the hosts of the start URLs: whoever wrote it
    did not want to crawl all of the web.
    """
    hosts, oddities = read_domains(spider.allowed_domains)
    starts = _start_hosts(spider)
    if oddities and not hosts:
        oddities.append(f"no domain can be read from allowed_domains: {', '.join(starts[:5]) or 'any host'} is allowed")
        hosts = starts
    elif strange := [host for host in starts if hosts and not is_within(host, frozenset(hosts))]:
        oddities.append(
            f"start URLs are outside of allowed_domains ({', '.join(hosts[:5])}): links to {', '.join(strange[:5])} "
            "will not be followed"
        )
    return hosts, [f"spider {spider.name}: {oddity}" for oddity in oddities]


def _start_hosts(spider: Spider) -> list[str]:
    """Returns the hosts of the start URLs, where looking at them does not use them up."""
    urls = spider.start_urls if isinstance(spider.start_urls, list | tuple) else ()
    texts = [url for url in islice(urls, START_URLS_LOOKED_AT) if isinstance(url, str)]
    return list(dict.fromkeys(host for url in texts if (host := host_of(url.strip()))))
