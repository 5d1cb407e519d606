"""What a page yields: filtered, fingerprinted, in parts that fit."""

from __future__ import annotations

import pytest

from p2pcrawl.model.crawl.fingerprint import SIZE, fingerprint
from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.settings import Settings
from p2pcrawl.model.outcome import Filter
from p2pcrawl.model.page_past import PagePast
from p2pcrawl.slave.pages.harvest import PART_LINKS, Harvest
from p2pcrawl.slave.pages.memory import Memory
from p2pcrawl.slave.pages.scope import Scope
from p2pcrawl.spiders.page.links import LinkBatch
from p2pcrawl.spiders.requests.fingerprinter import identify_by
from p2pcrawl.wire.messages.past_form import packed_past
from tests.unit.slave.tasks import task_of


def harvest_of(*domains: str, memory: Memory | None = None, start: bool = False, **settings: object) -> Harvest:
    chosen = Settings().updated(settings)
    return Harvest(task_of(), chosen, Scope(domains), memory or Memory(), start=start)


def batch_of(*urls: str, **options: object) -> LinkBatch:
    return LinkBatch(list(urls), **options)


def urls_of(harvest: Harvest) -> list[str]:
    return [url for links in harvest.take().links for url in links.urls]


def test_every_reason_to_leave_a_link_out_is_counted() -> None:
    harvest = harvest_of("a.example", urllength_limit=30)

    harvest.add_links(
        batch_of("http://a.example/1", "http://b.example/", "http://a.example/" + 30 * "x", "http://sub.a.example/")
    )
    harvest.add_links(batch_of("http://a.example/1"))
    harvest.add_request(Request("http://[bad/"))

    assert urls_of(harvest) == ["http://a.example/1", "http://sub.a.example/"]
    assert harvest.filtered == {Filter.OFFSITE: 1, Filter.URL_LENGTH: 1, Filter.SEEN: 1, Filter.INVALID: 1}


def test_start_url_that_a_page_has_led_to_is_told_as_one() -> None:
    memory = Memory()
    urls = ["http://10.0.0.5/", "http://a.example/", "http://shop.localhost/x"]
    page = harvest_of(memory=memory)
    page.add_links(batch_of(*urls))
    assert urls_of(page) == urls

    for add in (lambda h: h.add_links(batch_of(*urls)), lambda h: [h.add_request(Request(url)) for url in urls]):
        start = harvest_of(memory=memory, start=True)
        add(start)
        assert urls_of(start) == urls


def test_page_at_the_limit_of_depth_leads_no_deeper() -> None:
    harvest = harvest_of(depth_limit=1)

    harvest.add_links(batch_of("http://a.example/1", "http://a.example/2"))
    harvest.add_request(Request("http://a.example/3"))

    assert urls_of(harvest) == []
    assert harvest.filtered == {Filter.DEPTH: 3}


def test_redirect_stays_at_the_depth_of_its_page() -> None:
    harvest = harvest_of(depth_limit=1)

    harvest.add_request(Request("http://a.example/3"), redirect=True)

    assert [(links.shared.depth, links.shared.referer) for links in harvest.take().links] == [(1, "")]


def test_each_url_has_its_fingerprint_beside_it() -> None:
    harvest = harvest_of()
    harvest.add_links(batch_of("http://a.example/1", "http://a.example/2"))
    harvest.add_request(Request("http://a.example/3", callback="parse_page"))
    harvest.add_request(Request("http://a.example/4", callback="parse_page"))

    rows = harvest.take().links

    assert [(r.urls, r.shared.callback) for r in rows] == [
        (["http://a.example/1", "http://a.example/2"], ""),
        (["http://a.example/3", "http://a.example/4"], "parse_page"),
    ]
    for row in rows:
        assert row.fingerprints == b"".join(fingerprint(url) for url in row.urls)


def test_what_was_taken_counts_as_reported_and_what_was_not_does_not() -> None:
    memory = Memory()
    first, second = harvest_of(memory=memory), harvest_of(memory=memory)
    first.add_links(batch_of("http://a.example/1"))
    second.add_links(batch_of("http://a.example/1"))
    first.take()
    third = harvest_of(memory=memory)
    third.add_links(batch_of("http://a.example/1"))

    # The second page found it before the first had reported it, so it must say it, too.
    assert urls_of(second) == ["http://a.example/1"]
    assert urls_of(third) == []


def test_requests_that_differ_in_more_than_their_url_are_told_apart() -> None:
    harvest = harvest_of(fingerprint_headers="Accept")
    url = "http://a.example/"
    for request in (
        Request(url),
        Request(url, method="POST"),
        Request(url, method="POST", body="x"),
        Request(url, headers={"accept": "x"}),
        Request(url, headers={"Other": "x"}),
        Request(url, dont_filter=True),
        Request(url, dont_filter=True),
    ):
        harvest.add_request(request)

    prints = b"".join(links.fingerprints for links in harvest.take().links)

    assert len({prints[n : n + SIZE] for n in range(0, len(prints), SIZE)}) == 6
    assert harvest.filtered == {Filter.SEEN: 1}


def test_dont_filter_has_the_same_fingerprint_when_its_page_is_fetched_again() -> None:
    prints = []
    for _ in range(2):
        harvest = harvest_of()
        harvest.add_request(Request("http://a.example/", dont_filter=True))
        prints.append(harvest.take().links[0].fingerprints)

    assert prints[0] == prints[1]


def test_start_urls_may_be_off_site() -> None:
    harvest = harvest_of("a.example", start=True)

    harvest.add_links(batch_of("http://b.example/"))
    harvest.add_request(Request("http://c.example/"))

    assert urls_of(harvest) == ["http://b.example/", "http://c.example/"]


def test_page_with_very_many_links_is_full_after_each_part() -> None:
    harvest, parts = harvest_of(), []
    batch = batch_of(*(f"http://a.example/{n}" for n in range(3 * PART_LINKS + 1)))

    for start in range(0, len(batch.urls), PART_LINKS):
        harvest.add_links(batch, batch.urls[start : start + PART_LINKS])
        if harvest.full:
            parts.append(urls_of(harvest))
    parts.append(urls_of(harvest))

    assert [len(part) for part in parts] == [PART_LINKS, PART_LINKS, PART_LINKS, 1]
    assert [url for part in parts for url in part] == list(batch.urls)


def test_request_may_leave_the_site_where_its_meta_says_so() -> None:
    harvest = harvest_of("example.com")

    harvest.add_request(Request("http://other.test/1", meta={"allow_offsite": True}))
    harvest.add_links(batch_of("http://other.test/2", meta={"allow_offsite": True}))
    harvest.add_links(batch_of("http://other.test/3"))

    assert [url for columns in harvest.take().links for url in columns.urls] == [
        "http://other.test/1",
        "http://other.test/2",
    ]
    assert harvest.filtered == {Filter.OFFSITE: 1}


class ByQuery:
    """Knows pages by their query alone."""

    def fingerprint(self, request: Request) -> bytes:
        return request.url.partition("?")[2].encode()


def test_fingerprinter_of_ones_own_says_what_is_one_page() -> None:
    identify = identify_by(ByQuery())
    assert identify is not None

    def harvest_of(*urls: str) -> list[str]:
        harvest = Harvest(task_of(), Settings(), Scope(()), memory, identify=identify)
        harvest.add_links(LinkBatch(urls))
        for url in urls:
            harvest.add_request(Request(url))
        return [url for columns in harvest.take().links for url in columns.urls]

    memory = Memory()

    assert harvest_of("http://a.example/1?x", "http://a.example/2?x", "http://a.example/1?y") == [
        "http://a.example/1?x",
        "http://a.example/1?y",
    ]
    assert harvest_of("http://b.example/?y", "http://b.example/?z") == ["http://b.example/?z"]


def test_request_that_insists_is_made_again_whatever_its_fingerprinter_says() -> None:
    harvest = Harvest(task_of(), Settings(), Scope(()), Memory(), identify=identify_by(ByQuery()))

    for _ in range(2):
        harvest.add_request(Request("http://a.example/?x", dont_filter=True))

    (columns,) = harvest.take().links
    assert len({columns.fingerprints[:16], columns.fingerprints[16:]}) == 2


def test_fingerprint_that_is_no_bytes_is_refused_by_name() -> None:
    class Wrong:
        def fingerprint(self, request: Request) -> str:
            return request.url

    harvest = Harvest(task_of(), Settings(), Scope(()), Memory(), identify=identify_by(Wrong()))

    with pytest.raises(TypeError, match=r"Wrong\.fingerprint must return bytes"):
        harvest.add_request(Request("http://a.example/"))


def test_known_page_is_reported_again_where_a_sitemap_says_that_it_has_changed_since() -> None:
    memory, url = Memory(), "http://a.example/1"
    now = 1_800_000_000
    first = harvest_of(memory=memory)
    first.add_request(Request(url))
    first.take()
    later = Harvest(task_of(visit=1, past=packed_past(PagePast(asked=now))), Settings(), Scope(()), memory)
    news, old = Request(url), Request(url)
    news.changed_at, old.changed_at = now + 60.0, now - 10 * 86_400.0

    told = [later.add_request(request) for request in (Request(url), old, news)]

    [links] = later.take().links
    assert told == [False, False, True]
    assert (links.urls, links.changed) == ([url], [now + 60])
