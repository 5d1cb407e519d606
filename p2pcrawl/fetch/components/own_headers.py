"""Headers that are meant for some hosts only.

Which header is a secret cannot be told by its name: ``X-Api-Key`` is one, and so may be any that somebody made up. So
the few that tell nobody anything are listed, and all others are a host's *own*: those of a request stay with the origin
that it was made for when it is redirected, and those of DEFAULT_REQUEST_HEADERS stay with the hosts of the job. The
setting CROSS_ORIGIN_HEADERS names more that may go anywhere; ``*`` are all but Authorization, Cookie and
Proxy-Authorization.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from yarl import URL

from p2pcrawl.model.crawl.request import Request
from p2pcrawl.model.crawl.url import host_of

_PLAIN: Final = frozenset(
    {
        *("user-agent", "from", "cache-control", "pragma", "dnt", "sec-gpc", "save-data", "upgrade-insecure-requests"),
        *("x-requested-with", "priority", "te", "range", "connection", "content-type", "content-length"),
        *("content-encoding", "content-language"),
    }
)
_PLAIN_STARTS: Final = ("accept", "sec-ch-", "sec-fetch-")
_HOSTS_MAX: Final = 100_000
SIGNATURE_HEADERS: Final = frozenset({"signature", "signature-input", "signature-agent"})
"""Of one request only: the next hop is signed anew, if at all."""
_ALWAYS_OWN: Final = frozenset({"authorization", "cookie", "cookie2", "proxy-authorization"})


class OwnHeaders:
    """Tells them by name. ``anywhere``: more names that may go to every host."""

    def __init__(self, anywhere: Iterable[str] = ()) -> None:
        self._anywhere = frozenset(name.strip().lower() for name in anywhere)

    def __contains__(self, name: str) -> bool:
        lower = name.lower()
        if lower in _ALWAYS_OWN:
            return lower not in self._anywhere
        return not (
            lower in _PLAIN or lower.startswith(_PLAIN_STARTS) or lower in self._anywhere or "*" in self._anywhere
        )


class Home:
    """The hosts of a job: those of its start URLs, its allowed domains and what is below these."""

    def __init__(self, domains: Iterable[str] = (), start_urls: Iterable[str] = ()) -> None:
        self._domains = tuple(name for d in domains if (name := d.strip().lower().strip(".")))
        self._below = tuple("." + domain for domain in self._domains)
        self._hosts: dict[str, bool] = {}
        for url in start_urls:
            self.welcome(url)

    def welcome(self, url: str) -> None:
        """Counts the host of a start URL among the job's; in the clear only if the URL is."""
        host = host_of(url)
        self._hosts[host] = self._hosts.get(host, False) or url[:5].lower() == "http:"
        if len(self._hosts) > _HOSTS_MAX:
            del self._hosts[next(iter(self._hosts))]

    def has(self, request: Request) -> bool:
        """Tells whether a request stays at home, and no less encrypted than what the user named."""
        host = host_of(request.url)
        clear = self._hosts.get(host)
        if clear is None:
            if host not in self._domains and not host.endswith(self._below):
                return False
            clear = not self._hosts or any(self._hosts.values())
        return request.url.startswith("https:") or (clear and not was_downgraded(request))


def was_downgraded(request: Request) -> bool:
    """Tells whether a redirect led to this request from https to http."""
    if not request.meta or not request.url.startswith("http:"):
        return False
    return any(str(url).startswith("https:") for url in request.meta.get("redirect_urls") or ())


def same_site(before: str, after: str) -> bool:
    """Tells whether what is meant for one URL may go to the other: the same origin, or its upgrade to TLS."""
    old, new = URL(before), URL(after)
    if old.host != new.host:
        return False
    if old.scheme == new.scheme:
        return old.port == new.port
    return old.scheme == "http" and old.is_default_port() and new.is_default_port()
