"""The failures of a job by kind, and its last items, read beside the store that writes them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from p2pcrawl.frontier.database.schema import open_for_reading
from p2pcrawl.frontier.reading.job_errors import errors_of
from p2pcrawl.frontier.reading.last_items import last_items
from p2pcrawl.frontier.records.store import Store
from p2pcrawl.model.crawl.record import Phase
from p2pcrawl.model.texts.imprint_url import imprint_url
from tests.unit.frontier.batches import batch_of, end, grant, link, store_with_job


@pytest.fixture
def store(tmp_path: Path):
    store = store_with_job(tmp_path / "data", clustered=True)
    yield store
    store.close()


def crawl(store: Store, pages: dict[str, str], job: int = 1) -> None:
    """Ends each page: done with an item that holds its URL, or failed for a reason."""
    candidates = store.commit(batch_of([link(url, job) for url in pages])).fresh
    batch = batch_of()
    for candidate in candidates:
        grant(batch, candidate)
    store.commit(batch)
    batch = batch_of()
    for candidate in candidates:
        reason, url = pages[candidate.link.url], candidate.link.url
        phase = Phase.FAILED if reason else Phase.DONE
        end(batch, candidate, phase, reason=reason, items=() if reason else [b'"%s"' % url.encode()])
    store.commit(batch)


def test_kinds_come_most_first_with_their_hosts_and_an_example_of_each(store: Store) -> None:
    crawl(store, {f"http://a.example/{n}": "http-5xx" for n in range(3)})
    crawl(store, {"http://b.example/": "http-5xx", "http://c.example/": "dns", "http://d.example/": ""})

    found = errors_of(store.folder, 1, 5)

    assert [(kind.kind, kind.pages, kind.hosts) for kind in found] == [("http-5xx", 4, 2), ("dns", 1, 1)]
    assert [(page.url, page.of_host) for page in found[0].examples] == [
        ("http://a.example/2", 3),
        ("http://b.example/", 1),
    ]


def test_one_kind_can_be_asked_for_and_examples_are_bounded(store: Store) -> None:
    crawl(store, {f"http://{n}.example/": "dns" for n in range(9)} | {"http://x.example/": "tls"})

    (found,) = errors_of(store.folder, 1, 2, "dns")

    assert (found.kind, found.pages, found.hosts, len(found.examples)) == ("dns", 9, 9, 2)


def test_texts_that_failed_are_told_as_the_pages_that_said_them(store: Store) -> None:
    crawl(store, {imprint_url("http://a.example/7", 0, 0): "lost"})

    (found,) = errors_of(store.folder, 1, 3)

    assert (found.pages, found.hosts) == (1, 0)
    assert [(page.url, page.of_host) for page in found.examples] == [("http://a.example/7", 0)]


def test_page_that_is_visited_again_has_not_failed(store: Store) -> None:
    crawl(store, {"http://a.example/": "dns"})

    store.retry(1, batch_of().orders)

    assert errors_of(store.folder, 1, 3) == []


def test_failures_are_found_by_an_index_of_nothing_else(store: Store) -> None:
    """Else each question would read all records of a job."""
    asked = "EXPLAIN QUERY PLAN SELECT reason, host, count(*) FROM record WHERE job = 1 AND phase = 2 GROUP BY 1, 2"

    with closing(open_for_reading(store.folder)) as db:
        (step,) = db.execute(asked).fetchall()

    assert "COVERING INDEX record_failed" in step[3]


def test_last_items_come_newest_first_and_only_of_the_job(store: Store) -> None:
    store.add_job(2, "other", b"spec", None, batch_of())
    crawl(store, {f"http://a.example/{n}": "" for n in range(5)})
    crawl(store, {"http://b.example/": ""}, job=2)

    found = last_items(store.folder, 1, 3)

    assert [item.line for item in found] == [b'"http://a.example/%d"' % n for n in (4, 3, 2)]
    assert found[0].url == "http://a.example/4"


def test_job_without_items_has_no_last_ones(store: Store) -> None:
    assert last_items(store.folder, 1, 3) == []
