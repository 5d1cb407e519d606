"""The keys that jobs shard by: they say which bucket a URL is in."""

from __future__ import annotations

from functools import lru_cache

from p2pcrawl.core.ring.rendezvous import BUCKETS, bucket_of, bucket_of_hash, key_hash
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.url import host_of
from p2pcrawl.model.texts.imprint_url import IMPRINT_URL

_KNOWN_MAX = 200_000
SHARES = 64
"""Stored pages are shared out among slaves in so many parts, as hosts are in a crawl: one site may be all there is."""


class Keys:
    """Answers from memory for hosts that it has met."""

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}

    def place(self, shard_key: ShardKey, url: str, fingerprint: bytes, *, stored: bool = False) -> tuple[int, int]:
        """Returns the number of a URL's host, and the bucket that the URL is in. The start of a job has a fingerprint
        that its URL does not tell. An imprint is where its text says, whatever the key: each bucket has a host of its
        own for them. ``stored``: nobody asks the host, so the pages of a bucket are shared out among made-up ones,
        which are the bucket's, too: nothing of them has to be lent."""
        if stored:
            bucket = self.place(shard_key, url, fingerprint)[1]
            share = key_hash(f"{fingerprint[-1] % SHARES}.stored.localhost")
            return share - share % BUCKETS + bucket, bucket
        if url.startswith(IMPRINT_URL):
            bucket = int.from_bytes(fingerprint[:8], "big") % BUCKETS
            return key_hash(f"{bucket}.imprint.localhost"), bucket
        end = url.find("/", 8)
        authority = url[:end] if end > 0 else url
        host = self._hosts.get(authority)
        if host is None:
            if len(self._hosts) >= _KNOWN_MAX:
                self._hosts.clear()
            host = self._hosts[authority] = key_hash(host_of(url))
        if shard_key is ShardKey.HOST:
            return host, bucket_of_hash(host)
        if shard_key is ShardKey.URL:
            return host, int.from_bytes(fingerprint[:8], "big") % BUCKETS
        return host, bucket_of(domain_of(host_of(url)))

    def bucket(self, shard_key: ShardKey, url: str, fingerprint: bytes) -> int:
        """Returns the bucket of one URL."""
        return self.place(shard_key, url, fingerprint)[1]


@lru_cache(maxsize=_KNOWN_MAX)
def domain_of(host: str) -> str:
    """Returns the registrable domain of a host; the host itself where it has none."""
    return _extract()(host) or host


@lru_cache(maxsize=1)
def _extract():  # type: ignore[no-untyped-def]
    """Loads the list of public suffixes, which comes with the package, when the first job asks for it."""
    from tldextract import TLDExtract

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)
    return lambda host: extract(host).top_domain_under_public_suffix
