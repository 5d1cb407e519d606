"""Host to bucket by MD5, one fetcher per bucket, with overflow to a less loaded one (a source paper's picker)."""

from __future__ import annotations

import hashlib


class HostBucket:
    """``MD5(host) % buckets``; a host whose bucket overflows goes to the least loaded one.

    The mapping is kept while the host has URLs there, and removed with the last of them. A bucket's load is its URLs.
    Few fetchers ever meet on one host. Not monotone: another number of buckets moves nearly every host, so
    a changed group starts a new one of these.
    """

    def __init__(self, buckets: int, *, urls_max: int = 10_000) -> None:
        """``urls_max``: from how many URLs on a bucket takes no further host. Raises ValueError for numbers below 1."""
        if buckets < 1 or urls_max < 1:
            raise ValueError("host-bucket needs at least one bucket and room for one URL")
        self._loads = [0] * buckets
        self._urls_max = urls_max
        self._placed: dict[str, int] = {}
        self._urls: dict[str, int] = {}

    def home(self, host: str) -> int:
        """Returns the bucket of a host before any overflow."""
        digest = hashlib.md5(host.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
        return int.from_bytes(digest, "big") % len(self._loads)

    def place(self, host: str, urls: int = 1) -> int:
        """Places so many more URLs of this host, and returns their bucket."""
        bucket = self._placed.get(host)
        if bucket is None:
            bucket = self.home(host)
            if self._loads[bucket] >= self._urls_max:
                bucket = self._loads.index(min(self._loads))
            self._placed[host] = bucket
            self._urls[host] = 0
        self._urls[host] += urls
        self._loads[bucket] += urls
        return bucket

    def drain(self, host: str, urls: int = 1) -> None:
        """Takes off so many finished URLs of this host; with the last one the mapping is removed. Unknown hosts:
        ignored.
        """
        if host not in self._placed:
            return
        finished = min(urls, self._urls[host])
        self._loads[self._placed[host]] -= finished
        self._urls[host] -= finished
        if not self._urls[host]:
            del self._placed[host], self._urls[host]

    def bucket_of(self, host: str) -> int | None:
        """Returns the bucket that the host is mapped to now; None if to none."""
        return self._placed.get(host)

    def urls_of(self, host: str) -> int:
        """Returns how many URLs the host is known to have."""
        return self._urls.get(host, 0)

    def load(self, bucket: int) -> int:
        """Returns how many URLs the bucket has."""
        return self._loads[bucket]
