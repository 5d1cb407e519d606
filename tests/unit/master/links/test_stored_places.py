"""Where stored pages are read: in the bucket that they were fetched in, by hosts of nobody else."""

from __future__ import annotations

import pytest

from p2pcrawl.core.ring.rendezvous import bucket_of_hash
from p2pcrawl.master.links.shard_keys import SHARES, Keys
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import ShardKey


@pytest.mark.parametrize("key", list(ShardKey))
def test_stored_page_stays_in_its_bucket_and_its_made_up_host_is_of_the_same_owner(key: ShardKey) -> None:
    keys = Keys()
    for number in range(500):
        url = f"http://h{number % 7}.a{number % 3}.example/{number}"
        _, bucket = keys.place(key, url, fingerprint(url))

        host, stored = keys.place(key, url, fingerprint(url), stored=True)

        assert stored == bucket == bucket_of_hash(host)
        assert -(1 << 63) <= host < 1 << 63


def test_one_site_is_shared_out_among_many() -> None:
    keys, urls = Keys(), [f"http://a.example/{number}" for number in range(2_000)]

    hosts = {keys.place(ShardKey.HOST, url, fingerprint(url), stored=True)[0] for url in urls}

    assert len(hosts) == SHARES
