"""Imprints, and the links in which they travel."""

from __future__ import annotations

import msgspec
import pytest

from p2pcrawl.core.ring.rendezvous import BUCKETS
from p2pcrawl.master.links.shard_keys import Keys
from p2pcrawl.model.crawl.fingerprint import fingerprint
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.texts.text_signatures import exact_signature
from p2pcrawl.wire.messages.imprints import Imprint, imprint_link, imprint_of

PAGE = "http://a.example/"


def imprint(text: str = "text", page: str = PAGE, visit: int = 0, band: int = 0, near: int = 0) -> Imprint:
    return Imprint(exact_signature(text)[: 8 if near else 16], near, band, fingerprint(page), visit, [b"{}"])


def test_imprint_is_read_from_its_link() -> None:
    made = imprint(near=3, band=2)

    assert imprint_of(imprint_link(made, PAGE, 1, 0)) == made


def test_texts_that_are_equal_have_one_owner_whatever_the_page_and_the_job_shards_by() -> None:
    links = [imprint_link(imprint(page=f"http://h{n}.example/p"), f"http://h{n}.example/p", 1, 0) for n in range(20)]
    keys = Keys()

    places = {keys.place(key, link.url, link.fingerprint) for link in links for key in ShardKey}

    assert len({link.fingerprint for link in links}) == 20
    assert len(places) == 1


def test_imprints_are_spread_over_buckets_and_each_bucket_has_a_host_for_them() -> None:
    keys = Keys()
    links = [imprint_link(imprint(text=str(n)), PAGE, 1, 0) for n in range(2_000)]

    places = {keys.place(ShardKey.HOST, link.url, link.fingerprint) for link in links}

    assert len({bucket for _, bucket in places}) > BUCKETS // 4
    assert len({host for host, _ in places}) == len({bucket for _, bucket in places}) == len(places)


def test_each_visit_and_each_band_is_a_record_of_its_own() -> None:
    made = [imprint(near=3, visit=visit, band=band) for visit in range(3) for band in range(4)]

    assert len({each.fingerprint for each in made}) == len(made)


@pytest.mark.parametrize(
    "extra",
    [
        b"",
        b"nonsense",
        msgspec.msgpack.encode(["x"]),
        msgspec.msgpack.encode([b"x" * 8, 3, 4, b"p" * 16, 0, []]),
        msgspec.msgpack.encode([b"x" * 8, 99, 0, b"p" * 16, 0, []]),
        msgspec.msgpack.encode([b"x" * 8, 0, 0, b"short", 0, []]),
    ],
)
def test_link_that_says_nonsense_is_no_imprint(extra: bytes) -> None:
    link = imprint_link(imprint(), PAGE, 1, 0)

    assert imprint_of(link._replace(extra=extra)) is None


def test_imprint_under_a_fingerprint_that_is_not_its_own_is_none() -> None:
    link = imprint_link(imprint(), PAGE, 1, 0)

    assert imprint_of(link._replace(fingerprint=fingerprint("http://b.example/"))) is None


def test_page_is_no_imprint() -> None:
    link = imprint_link(imprint(), PAGE, 1, 0)

    assert imprint_of(link._replace(url=PAGE)) is None
