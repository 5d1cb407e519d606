"""Which bucket a URL is in, by the key of its job."""

from __future__ import annotations

from functools import lru_cache

from p2pcrawl.core.ring.rendezvous import BUCKETS, bucket_of, bucket_of_hash, key_hash
from p2pcrawl.model.crawl.record import ShardKey
from p2pcrawl.model.crawl.url import host_of

_KNOWN_MAX = 200_000


class Keys:
    """Answers from memory for hosts that it has met."""

    def __init__(self) -> None:
        self._hosts: dict[str, int] = {}

    def host_key(self, url: str) -> int:
        """The number of the URL's host."""
        end = url.find("/", 8)
        authority = url[:end] if end > 0 else url
        key = self._hosts.get(authority)
        if key is None:
            if len(self._hosts) >= _KNOWN_MAX:
                self._hosts.clear()
            key = self._hosts[authority] = key_hash(host_of(url))
        return key

    def bucket(self, shard_key: ShardKey, url: str, host_key: int, fingerprint: bytes) -> int:
        """The bucket of one URL; ``host_key`` and ``fingerprint`` are its own."""
        if shard_key is ShardKey.HOST:
            return bucket_of_hash(host_key)
        if shard_key is ShardKey.URL:
            return int.from_bytes(fingerprint[:8], "big") % BUCKETS
        return bucket_of(domain_of(host_of(url)))

    def bucket_of_url(self, shard_key: ShardKey, url: str, fingerprint: bytes) -> int:
        """As :meth:`bucket`, where the key of the host is not at hand."""
        return self.bucket(shard_key, url, self.host_key(url), fingerprint)


@lru_cache(maxsize=_KNOWN_MAX)
def domain_of(host: str) -> str:
    """The registrable domain of a host; the host itself where it has none."""
    return _extract()(host) or host


@lru_cache(maxsize=1)
def _extract():  # type: ignore[no-untyped-def]
    """Loaded when the first job asks for it; the list of public suffixes comes with the package."""
    from tldextract import TLDExtract

    extract = TLDExtract(suffix_list_urls=(), cache_dir=None)
    return lambda host: extract(host).top_domain_under_public_suffix
